"""An audit of JIT sources for people: verdicts by target, what is wrong where, and what users wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.finding import Severity, Verdict
from pipeline.model.paths import printable
from pipeline.report.color import paint
from pipeline.report.columns import columns
from pipeline.report.fold import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.jit import JitReport
    from pipeline.model.finding import Finding

_STYLES = {Verdict.PASS: "green", Verdict.FAIL: "red", Verdict.UNKNOWN: "yellow"}
_MARKS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def jit_text(report: JitReport, *, color: bool = False, width: int = 0) -> str:
    """Lines for a terminal of that ``width`` or, with 0, for a log."""
    head = f"{report.lane}  {len(report.compilations)} compilations of what users' machines compile"
    parts = (folded([head, ""], width), _targets(report, color=color), folded(_findings(report), width))
    return "\n".join(line for part in parts for line in part) + "\n"


def _targets(report: JitReport, *, color: bool) -> Iterator[str]:
    rows = [
        (
            row.verdict.value.upper(),
            row.target.label,
            str(row.compilations),
            f"{row.seconds:.1f} s",
            ", ".join(row.causes) or "-",
        )
        for row in report.targets
    ]
    verdicts = {row.verdict.value.upper(): _STYLES[row.verdict] for row in report.targets}

    def painted(cell: str, index: int) -> str:
        return paint(cell, verdicts[cell.strip()], color=color) if index == 0 else cell

    yield from columns(("verdict", "target", "compiled", "takes", "because"), rows, painted=painted)
    yield ""


def _findings(report: JitReport) -> Iterator[str]:
    for finding in report.findings:
        yield f"{_MARKS[finding.severity]} {finding.rule}  {printable(finding.path)}"
        yield f"  {printable(finding.observed)}"
        yield f"  where {finding.declared}; on {_targets_of(finding)}"
        yield f"  fix  {finding.remedy}"


def _targets_of(finding: Finding) -> str:
    return ", ".join(finding.targets)
