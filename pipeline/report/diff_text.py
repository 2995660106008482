"""The comparison of two artifacts for people: what was lost first, then what merely changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.finding import Severity, Status
from pipeline.report.color import paint
from pipeline.report.fold import folded, short_digests
from pipeline.report.shown import shown, shown_finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.diff import Difference
    from pipeline.model.finding import Finding

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
_WORDS = {Severity.ERROR: "lost", Severity.WARNING: "warning", Severity.NOTE: "note"}
_MOST_SIZES = 10
_MOST_BLOCKS = 50
_MOST_ALIKE = 20


def diff_text(found: Difference, *, color: bool, width: int = 0) -> str:
    """Lines for a terminal of that width or, with 0, for a log."""
    return "\n".join(folded(_lines(found, color=color), width)) + "\n"


def _lines(found: Difference, *, color: bool) -> Iterator[str]:
    yield f"{shown(found.old.path)}  {found.old.size} bytes"
    yield f"{shown(found.new.path)}  {found.new.size} bytes ({found.new.size - found.old.size:+d})"
    for severity in Severity:
        blocks = _blocks(shown_finding(finding) for finding in found.findings if finding.severity is severity)
        for block in blocks[:_MOST_BLOCKS]:
            yield ""
            yield from _block(block, color=color)
        if left := sum(map(len, blocks[_MOST_BLOCKS:])):
            yield ""
            yield f"… and {left} more of {_WORDS[severity]} (--format json has all)"
    yield from _sizes(found)
    yield ""
    yield from _verdict(found, color=color)


def _blocks(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Those together that say the same of several places, or several things of one that was the same before."""
    blocks: list[list[Finding]] = []
    for finding in findings:
        alike = next((block for block in blocks if _alike(block, finding)), None)
        if alike is None:
            blocks.append([finding])
        else:
            alike.append(finding)
    return blocks


def _alike(block: list[Finding], other: Finding) -> bool:
    first = block[0]
    if (first.rule, first.declared) != (other.rule, other.declared):
        return False
    said = all(finding.observed == other.observed for finding in block) and first.remedy == other.remedy
    return said or all(finding.path == other.path for finding in block)


def _block(findings: list[Finding], *, color: bool) -> Iterator[str]:
    first = findings[0]
    word = paint(_WORDS[first.severity], _STYLES[first.severity], color=color)
    yield f"{word}[{first.rule}] {first.observed}"
    others = [text for text in dict.fromkeys(finding.observed for finding in findings) if text != first.observed]
    yield from (f"  also  {text}" for text in others[:_MOST_ALIKE])
    if len(others) > _MOST_ALIKE:
        yield f"  also  {len(others) - _MOST_ALIKE} more (--format json has all)"
    places = len({finding.path for finding in findings}) - 1
    more = f" and {places} more {'place' if places == 1 else 'places'}" if places else ""
    yield f"  at  {short_digests(first.path)}{more}"
    yield f"  before  {first.declared}"
    if first.severity is not Severity.NOTE:
        yield f"  fix  {first.remedy}"


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
