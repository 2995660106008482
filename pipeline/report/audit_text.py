"""The audit for people: verdict per target, the worst finding first, counts instead of repetitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.finding import Severity, Status, Verdict
from pipeline.model.paths import printable
from pipeline.report.distributions_text import coverage_text, distributions_text, failing
from pipeline.report.fold import folded, short_digests
from pipeline.report.shown import counted, shown, shown_finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.audit.report import AuditReport, FatbinCount, TargetReport
    from pipeline.model.finding import Finding

_WORDS = {Verdict.PASS: "PASS", Verdict.FAIL: "FAIL", Verdict.UNKNOWN: "UNKNOWN"}
_COLOURS = {Verdict.PASS: "32", Verdict.FAIL: "31", Verdict.UNKNOWN: "33"}
_MARKS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_MOST_ALIKE = 3
_MOST_KERNELS = 6
_UNITS = ("B", "kB", "MB", "GB")


def audit_text(report: AuditReport, *, colour: bool = False, width: int = 0) -> str:
    """Lines for a terminal of that ``width`` or, with 0, for a log; ``colour`` adds ANSI colours to the verdicts."""
    parts = (
        folded(_head(report), width),
        _targets(report, colour=colour, width=width),
        distributions_text(report, width=width),
        coverage_text(report, width=width),
        folded(_findings(report), width),
        folded(_rehearsed(report), width),
        folded(_tail(report), width),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _rehearsed(report: AuditReport) -> Iterable[str]:
    if report.rehearsal is None:
        return ()
    from pipeline.report.rehearsal_text import rehearsal_lines

    return rehearsal_lines(report.rehearsal)


def _head(report: AuditReport) -> Iterator[str]:
    for item in report.artifacts:
        digest = f"  sha256 {item.sha256[:12]}…" if item.sha256 else ""
        yield f"{shown(item.path)}  {shown(item.format)}, {_size(item.size)}{digest}"
    seen = report.examined
    containers = f"{counted(seen.fatbins, 'fatbin')} with {counted(seen.cubins, 'cubin')} and {seen.ptx} PTX"
    yield f"  {counted(seen.members, 'file')}, {seen.elf} ELF, {containers}"
    yield ""


def _size(size: float) -> str:
    for unit in _UNITS:
        if size < 1000 or unit == _UNITS[-1]:
            return f"{size:.3g} {unit}" if unit != "B" else f"{size} B"
        size /= 1000
    return ""


def _targets(report: AuditReport, *, colour: bool, width: int) -> Iterator[str]:
    widest = max((len(target.target.label) for target in report.targets), default=0)
    for target in report.targets:
        word = _WORDS[target.verdict]
        first, *rest = folded([f"{word:<7}  {target.target.label:<{widest}}  {why_of(target)}".rstrip()], width)
        yield first.replace(word, f"\x1b[{_COLOURS[target.verdict]}m{word}\x1b[0m", 1) if colour else first
        yield from rest
        if because := failing(report, target.target.label):
            yield from folded([f"{'':<7}  {because}"], width)
    if report.targets:
        yield ""


def why_of(target: TargetReport) -> str:
    """Causes, first error, how containers are served, and the driver that is needed, in one line."""
    parts = [", ".join(target.causes)] if target.causes else []
    if target.errors:
        parts.append(target.errors[0])
    parts.append(_served(target.fatbins))
    floor = target.floor
    if floor.driver:
        parts.append(f"device code needs driver >= {floor.driver} ({floor.reason})")
    elif target.fatbins.total:
        parts.append("no driver serves all device code" if floor.reason == "none" else "lowest driver unknown")
    return "; ".join(part for part in parts if part)


def _served(count: FatbinCount) -> str:
    if not count.total:
        return ""
    parts = (
        (count.native, "native"),
        (count.jit, "JIT"),
        (count.by_design, "absent by design"),
        (count.unloadable, "unloadable"),
    )
    return ", ".join(f"{number} {what}" for number, what in parts if number) + f" of {count.total} fatbins"


def _findings(report: AuditReport) -> Iterator[str]:
    """One block per rule: its gravest and largest finding whole, the others by what differs."""
    blocks: list[list[Finding]] = []
    for finding in map(shown_finding, report.findings):
        alike = next((block for block in blocks if _alike(block[0], finding)), None)
        if alike is None:
            blocks.append([finding])
        else:
            alike.append(finding)
    for block in blocks:
        yield from _block(block)
    if blocks:
        yield ""


def _alike(first: Finding, other: Finding) -> bool:
    """Whether a block tells both: of one rule, and a less grave one only where promise and remedy are the same."""
    same = (first.declared, first.remedy) == (other.declared, other.remedy)
    return first.rule == other.rule and (first.severity is other.severity or same)


def _block(findings: list[Finding]) -> Iterator[str]:
    first = findings[0]
    yield f"{_MARKS[first.severity]}[{first.rule}]{_times(first)} {first.observed}"
    others = dict.fromkeys(_told(finding, first) for finding in findings[1:])
    others.pop(_told(first, first), None)
    yield from (f"  also  {text}" for text in list(others)[:_MOST_ALIKE])
    if len(others) > _MOST_ALIKE:
        yield f"  also  {len(others) - _MOST_ALIKE} more (--format json has all)"
    places = dict.fromkeys(finding.path for finding in findings)
    further = len(places) - 1
    more = f" and {further} more {'place' if further == 1 else 'places'}" if further else ""
    yield f"  at  {short_digests(first.path)}{more}"
    yield f"  declared  {first.declared}"
    if lost := dict.fromkeys(name for finding in findings for name in finding.kernels):
        more = f" and {len(lost) - _MOST_KERNELS} more" if len(lost) > _MOST_KERNELS else ""
        yield f"  dies  {', '.join(printable(name) for name in list(lost)[:_MOST_KERNELS])}{more}"
    yield f"  fix  {first.remedy}"


def _told(finding: Finding, first: Finding) -> str:
    mark = "" if finding.severity is first.severity else f"({_MARKS[finding.severity]}) "
    return f"{mark}{finding.observed}{_times(finding)}"


def _times(finding: Finding) -> str:
    return f" x{finding.count}" if finding.count > 1 else ""


def _tail(report: AuditReport) -> Iterator[str]:
    for note in report.notes:
        yield f"note: {shown(note)}"
    for outcome in report.outcomes:
        if outcome.status is Status.SKIPPED:
            yield f"note: {shown(outcome.reason or '')}"
    passed = sum(outcome.status is Status.PASS for outcome in report.outcomes)
    failed = [outcome.rule for outcome in report.outcomes if outcome.status in {Status.FAIL, Status.ERROR}]
    told = f"; not passed: {', '.join(failed)}" if failed else ""
    left_out = sum(outcome.status is Status.NOT_APPLICABLE for outcome in report.outcomes)
    yield f"{counted(passed, 'rule')} passed, {left_out} not applicable{told}; policy of {report.policy_date}"
    if failed:
        worst = next((finding.rule for finding in report.findings if finding.rule in failed), failed[0])
        yield f"`cubingate explain {worst}` says why it happens and what to change"
    if failed and not report.asked:
        yield "nothing was promised, so nothing is refused: --target, --host or --lane says what has to hold"
