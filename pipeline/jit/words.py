"""What compilers say about a source, as refusals: where, which instruction, and which architecture has it first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.jit.compilation import Refusal
from pipeline.policy.jit import FeatureLanguage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.jit.places import Place, Places
    from pipeline.policy.jit import Feature, JitTables
    from pipeline.rules.assembly import Complaint

FEATURE, COMPILE = "jit-feature", "jit-compile"
_ERROR = re.compile(
    r"^(?P<file>[^\n()]{1,1024})\((?P<line>[0-9]{1,9})\): (?:catastrophic )?error(?: #[0-9]+-D)?: "
    r"(?P<text>[^\n]{1,2000})$",
    re.MULTILINE,
)
_OPTION = re.compile(r"^nvrtc: error: (?P<text>[^\n]{1,2000})$", re.MULTILINE)
_FIRST = re.compile(r"requires \.target sm_(?P<arch>[0-9]{2,3}[af]?)")
_OTHER_RULE = "rehearsal"
_MOST = 20


def of_front_end(output: str, shown: Callable[[str], str], tables: JitTables, arch: str) -> tuple[Refusal, ...]:
    """What NVRTC refuses in the source text. ``shown`` turns its file names into those of the product."""
    return tuple(_front_end(output, shown, tables, arch))[:_MOST]


def _front_end(output: str, shown: Callable[[str], str], tables: JitTables, arch: str) -> Iterator[Refusal]:
    for found in _ERROR.finditer(output):
        block = output[found.start() :].partition("\n\n")[0]
        known = _later(tables.used_in(" ".join(block.split()), FeatureLanguage.CUDA), arch)
        yield Refusal(
            rule=FEATURE if known else COMPILE,
            text=found["text"].strip(),
            place=f"{shown(found['file'].strip())}:{found['line']}",
            feature=known.name if known else "",
            first=known.first.name if known else "",
        )
    for found in _OPTION.finditer(output):
        yield Refusal(rule=COMPILE, text=found["text"].strip(), place="")


def of_assembler(
    complaints: tuple[Complaint, ...], places: Places, shown: Callable[[str], str], tables: JitTables, arch: str
) -> tuple[Refusal, ...]:
    """What ptxas refuses in the PTX, told for the source that it came from."""
    return tuple(dict.fromkeys(_assembler(complaint, places, shown, tables, arch) for complaint in complaints))


def _assembler(
    complaint: Complaint, places: Places, shown: Callable[[str], str], tables: JitTables, arch: str
) -> Refusal:
    place = places.at(complaint.line)
    said = _FIRST.search(complaint.text)
    known = _named(tables, place, said["arch"] if said else "", arch)
    rule = FEATURE if said or known else COMPILE if complaint.rule == _OTHER_RULE else complaint.rule
    return Refusal(
        rule=rule,
        text=complaint.text,
        place=f"{shown(place.file)}:{place.line}" if place.line else f"{shown('')}:{complaint.line}",
        instruction=place.instruction,
        kernel=complaint.kernel or place.kernel,
        feature=known.name if known else "",
        first=said["arch"] if said else known.first.name if known else "",
        size=complaint.excess,
    )


def _named(tables: JitTables, place: Place, first: str, arch: str) -> Feature | None:
    """The table's name for it: of the features in the instruction the one that begins where the assembler says."""
    used = list(tables.used_in(place.instruction, FeatureLanguage.PTX))
    same = [row for row in used if row.first.name == first]
    return same[0] if same else _later(iter(used), arch)


def _later(used: Iterator[Feature], arch: str) -> Feature | None:
    """The feature that begins latest of those that code for ``arch`` (``90``) cannot use."""
    number = int(arch.rstrip("af"))
    lacking = [row for row in used if row.first.number > number or (row.first.suffix and row.first.name != arch)]
    return max(lacking, key=lambda row: row.first.number, default=None)
