"""The audit for people: verdict per target, the worst finding first, counts instead of repetitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.finding import Severity, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.audit.report import AuditReport, FatbinCount, TargetReport
    from pipeline.model.finding import Finding

_WORDS = {Verdict.PASS: "PASS", Verdict.FAIL: "FAIL", Verdict.UNKNOWN: "UNKNOWN"}
_COLOURS = {Verdict.PASS: "32", Verdict.FAIL: "31", Verdict.UNKNOWN: "33"}
_MARKS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_MOST_ALIKE = 3
_UNITS = ("B", "kB", "MB", "GB")


def audit_text(report: AuditReport, *, colour: bool = False) -> str:
    """Lines for a terminal or a log; ``colour`` adds ANSI colours to the verdicts."""
    return "\n".join((*_head(report), *_targets(report, colour=colour), *_findings(report), *_tail(report))) + "\n"


def _head(report: AuditReport) -> Iterator[str]:
    for item in report.artifacts:
        digest = f"  sha256 {item.sha256[:12]}…" if item.sha256 else ""
        yield f"{item.path}  {item.format}, {_size(item.size)}{digest}"
    seen = report.examined
    yield (
        f"  {seen.members} files, {seen.elf} ELF, {seen.fatbins} fatbins with {seen.cubins} cubins and {seen.ptx} PTX"
    )
    yield ""


def _size(size: float) -> str:
    for unit in _UNITS:
        if size < 1000 or unit == _UNITS[-1]:
            return f"{size:.3g} {unit}" if unit != "B" else f"{size} B"
        size /= 1000
    return ""


def _targets(report: AuditReport, *, colour: bool) -> Iterator[str]:
    width = max((len(target.target.label) for target in report.targets), default=0)
    for target in report.targets:
        word = _WORDS[target.verdict]
        shown = f"\x1b[{_COLOURS[target.verdict]}m{word}\x1b[0m" if colour else word
        pad = " " * (7 - len(word))
        yield f"{shown}{pad}  {target.target.label:<{width}}  {_why(target)}".rstrip()
    if report.targets:
        yield ""


def _why(target: TargetReport) -> str:
    parts = [", ".join(target.causes)] if target.causes else []
    if target.errors:
        parts.append(target.errors[0])
    parts.append(_served(target.fatbins))
    floor = target.floor
    if floor.driver:
        parts.append(f"needs driver >= {floor.driver} ({floor.reason})")
    elif target.fatbins.total:
        parts.append("no driver serves all of it" if floor.reason == "none" else "lowest driver unknown")
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
    """One block per rule and severity: its largest finding whole, the others by what differs."""
    blocks: dict[tuple[Severity, str], list[Finding]] = {}
    for finding in report.findings:
        blocks.setdefault((finding.severity, finding.rule), []).append(finding)
    for (severity, rule), findings in blocks.items():
        yield from _block(severity, rule, findings)
    if blocks:
        yield ""


def _block(severity: Severity, rule: str, findings: list[Finding]) -> Iterator[str]:
    first = findings[0]
    yield f"{_MARKS[severity]}[{rule}]{_times(first)} {first.observed}"
    others = dict.fromkeys(f"{finding.observed}{_times(finding)}" for finding in findings[1:])
    others.pop(f"{first.observed}{_times(first)}", None)
    yield from (f"  also  {text}" for text in list(others)[:_MOST_ALIKE])
    if len(others) > _MOST_ALIKE:
        yield f"  also  {len(others) - _MOST_ALIKE} more (--format json has all)"
    places = dict.fromkeys(finding.path for finding in findings)
    more = f" and {len(places) - 1} more places" if len(places) > 1 else ""
    yield f"  at  {first.path}{more}"
    yield f"  declared  {first.declared}"
    yield f"  fix  {first.remedy}"


def _times(finding: Finding) -> str:
    return f" x{finding.count}" if finding.count > 1 else ""


def _tail(report: AuditReport) -> Iterator[str]:
    for note in report.notes:
        yield f"note: {note}"
    for outcome in report.outcomes:
        if outcome.status is Status.SKIPPED:
            yield f"note: {outcome.reason}"
    passed = sum(outcome.status is Status.PASS for outcome in report.outcomes)
    failed = [outcome.rule for outcome in report.outcomes if outcome.status in {Status.FAIL, Status.ERROR}]
    told = f"; not passed: {', '.join(failed)}" if failed else ""
    left_out = sum(outcome.status is Status.NOT_APPLICABLE for outcome in report.outcomes)
    yield f"{passed} rules passed, {left_out} not applicable{told}; policy of {report.policy_date}"
    if failed:
        yield f"`cubingate explain {failed[0]}` says why it happens and what to change"
