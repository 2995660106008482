"""Text out of artifacts made fit to be shown: on one line, without control characters, of bounded length."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.model.paths import printable

if TYPE_CHECKING:
    from pipeline.model.finding import Finding

MOST_CHARACTERS = 1000
"""Of one text in a report for people; a name of an ELF symbol or of a member may have millions."""

_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"


def shown(text: str, most: int = MOST_CHARACTERS) -> str:
    """``text`` with control, direction and undecodable characters escaped, cut after ``most`` with the count."""
    clean = printable(text)
    return clean if len(clean) <= most else f"{clean[:most]}… ({len(clean) - most} more characters)"


def shown_finding(finding: Finding) -> Finding:
    """The finding with every text of it made fit to be shown on a terminal."""
    return replace(
        finding,
        rule=shown(finding.rule),
        path=shown(finding.path),
        declared=shown(finding.declared),
        observed=shown(finding.observed),
        remedy=shown(finding.remedy),
        targets=tuple(map(shown, finding.targets)),
    )


def isolated(text: str) -> str:
    """``text`` so that letters written from the right do not reorder what stands around it."""
    if text.isascii() or not any(unicodedata.bidirectional(letter) in {"R", "AL", "AN"} for letter in text):
        return text
    return f"{_FIRST_STRONG_ISOLATE}{text}{_POP_ISOLATE}"


def times(count: int) -> str:
    """``" x143"`` where something is told once for several; nothing for one."""
    return f" x{count}" if count > 1 else ""


def counted(number: int, noun: str) -> str:
    """``1 finding``, ``2 findings``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
