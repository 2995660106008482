"""The comparison of two artifacts for people: what was lost first, then what merely changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.finding import Severity, Status
from pipeline.report.color import paint
from pipeline.report.fold import folded, short_digests
from pipeline.report.shown import shown, shown_finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.diff import Difference
    from pipeline.model.finding import Finding

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
_WORDS = {Severity.ERROR: "lost", Severity.WARNING: "warning", Severity.NOTE: "note"}
_MOST_SIZES = 10
_MOST_FINDINGS = 50


def diff_text(found: Difference, *, color: bool, width: int = 0) -> str:
    """Lines for a terminal of that width or, with 0, for a log."""
    return "\n".join(folded(_lines(found, color=color), width)) + "\n"


def _lines(found: Difference, *, color: bool) -> Iterator[str]:
    yield f"{shown(found.old.path)}  {found.old.size} bytes"
    yield f"{shown(found.new.path)}  {found.new.size} bytes ({found.new.size - found.old.size:+d})"
    for severity in Severity:
        alike = [finding for finding in found.findings if finding.severity is severity]
        for finding in alike[:_MOST_FINDINGS]:
            yield ""
            yield from _finding(shown_finding(finding), color=color)
        if len(alike) > _MOST_FINDINGS:
            yield ""
            yield f"… and {len(alike) - _MOST_FINDINGS} more of {_WORDS[severity]} (--format json has all)"
    yield from _sizes(found)
    yield ""
    yield from _verdict(found, color=color)


def _finding(finding: Finding, *, color: bool) -> Iterator[str]:
    word = paint(_WORDS[finding.severity], _STYLES[finding.severity], color=color)
    yield f"{word}[{finding.rule}] {finding.observed}"
    yield f"  at  {short_digests(finding.path)}"
    yield f"  before  {finding.declared}"
    if finding.severity is not Severity.NOTE:
        yield f"  fix  {finding.remedy}"


def _sizes(found: Difference) -> Iterator[str]:
    rows = [pair for pair in found.sizes if pair.path][:_MOST_SIZES]
    if rows:
        yield ""
        yield "sizes that changed most, in bytes:"
        yield from (f"{pair.new - pair.old:>+14d}  {shown(pair.path)}" for pair in rows)


def _verdict(found: Difference, *, color: bool) -> Iterator[str]:
    failed = [outcome.rule for outcome in found.outcomes if outcome.status is Status.FAIL]
    allowed = [outcome.rule for outcome in found.outcomes if outcome.status is Status.WAIVED]
    if found.corrupt:
        yield paint("one of the two is corrupt: `cubingate audit` says where", "red", color=color)
    elif failed:
        yield paint(f"something was lost: {', '.join(failed)}", "red", color=color)
    else:
        yield paint("nothing was lost", "green", color=color)
    if allowed:
        yield f"allowed: {', '.join(allowed)}"
