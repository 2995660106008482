"""What an assembler's words mean: which rule a text breaks, or that the assembler itself gave up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.rules.assembly import Complaint, Ending

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAID = re.compile(
    r"^ptxas\b[^\n]{0,400}?(?:, line (?P<line>[0-9]{1,9}); )?(?:error|fatal) *: (?P<text>[^\n]{1,2000})$", re.MULTILINE
)
_ABORTED = "Ptx assembly aborted due to errors"
_SHARED = re.compile(
    r"Entry function '(?P<kernel>[^']+)' uses too much shared data "
    r"\(0x(?P<size>[0-9a-f]{1,16}) bytes, 0x(?P<most>[0-9a-f]{1,16}) max\)"
)
_STATIC_LIMIT = 48 << 10
_RULES = (
    (re.compile(r"Unsupported \.version"), "ptx-isa"),
    (
        re.compile(r"requires \.target|not supported on \.target|not supported (?:for|on) (?:target )?'?sm_"),
        "jit-feature",
    ),
)
_GAVE_UP = (
    (re.compile(r"[Mm]emory allocation fail|bad_alloc|[Oo]ut of memory"), Ending.MEMORY_LIMIT),
    (re.compile(r"[Ii]nternal (?:compiler )?error|Signal: "), Ending.CRASHED),
    (re.compile(r"is not defined for option"), Ending.NO_ASSEMBLER),
)
_SPILLS = re.compile(r"(?P<stores>[0-9]{1,12}) bytes spill stores, (?P<loads>[0-9]{1,12}) bytes spill loads")
_MOST = 20


@dataclass(frozen=True, slots=True)
class Words:
    """What was said: complaints about the text, or ``gave_up`` and why. ``more`` complaints are not listed."""

    complaints: tuple[Complaint, ...]
    more: int
    gave_up: Ending | None
    why: str


def understood(output: str) -> Words:
    """Read what an assembler printed."""
    for pattern, ending in _GAVE_UP:
        found = pattern.search(output)
        if found is not None:
            return Words((), 0, ending, _line_around(output, found.start()))
    complaints = tuple(dict.fromkeys(_complaints(output)))
    return Words(complaints[:_MOST], max(len(complaints) - _MOST, 0), None, "")


def spilled(output: str) -> int:
    """Bytes that registers spill to memory and back, all functions together."""
    return sum(int(found["stores"]) + int(found["loads"]) for found in _SPILLS.finditer(output))


def last_words(output: str) -> str:
    """The end of what was said, on one line."""
    return " ".join(output.split())[-300:]


def _complaints(output: str) -> Iterator[Complaint]:
    for said in _SAID.finditer(output):
        text = said["text"].strip()
        if text == _ABORTED:
            continue
        line = int(said["line"] or 0)
        shared = _SHARED.search(text)
        if shared is not None:
            # What machine code for SM 9.0 and later reserves is in both numbers.
            size = int(shared["size"], 16) - int(shared["most"], 16) + _STATIC_LIMIT
            yield Complaint("static-shared-memory", text, line, shared["kernel"], size)
        else:
            yield Complaint(_rule(text), text, line)


def _rule(text: str) -> str:
    return next((rule for pattern, rule in _RULES if pattern.search(text)), "rehearsal")


def _line_around(output: str, place: int) -> str:
    start = output.rfind("\n", 0, place) + 1
    return output[start:].partition("\n")[0].strip()[:300]
