"""A smoke as text: one line per check, and what the log says where one failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.finding import Status, Verdict
from pipeline.model.paths import printable
from pipeline.report.color import paint
from pipeline.report.columns import columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model.evidence import Machine
    from pipeline.serve.outcome import SmokeCheck, SmokeReport

_STYLES = {Status.PASS: "green", Status.FAIL: "red", Status.ERROR: "red"}
_WORDS = {
    Verdict.PASS: ("PASS", "green"),
    Verdict.FAIL: ("FAIL", "red"),
    Verdict.UNKNOWN: ("UNKNOWN: the bundle was not judged", "yellow"),
}


def smoke_text(report: SmokeReport, *, color: bool, width: int = 0) -> str:
    """The checks in a table, the diagnosis of what failed, the verdict last."""
    rows = [(check.id.value, check.status.value, f"{check.seconds:.2f} s", _because(check)) for check in report.checks]
    lines = columns(
        ("check", "status", "took", ""),
        rows,
        painted=lambda cell, column: _painted(cell, color=color) if column == 1 else cell,
        titled=lambda line: paint(line, "bold", color=color),
        width=width,
    )
    word, style = _WORDS[report.verdict]
    shown = [line for check in report.checks for line in _diagnosis(check)]
    about = f"{printable(report.path)}  sha256 {report.sha256[:12]}…  {_place(report.machine)}"
    return "\n".join([about, "", *lines, *shown, "", paint(word, style, color=color)])


def _because(check: SmokeCheck) -> str:
    return f"{check.fault}: {check.reason}" if check.fault else check.reason or ""


def _painted(cell: str, *, color: bool) -> str:
    style = _STYLES.get(Status(cell.strip()))
    return paint(cell, style, color=color) if style else cell


def _diagnosis(check: SmokeCheck) -> Iterator[str]:
    if check.diagnosis is None:
        return
    if check.diagnosis.cuda_error:
        yield ""
        yield f"{check.diagnosis.cuda_error}: {check.diagnosis.explanation or 'not explained here'}"
        yield f"  more: cubingate explain {check.diagnosis.cuda_error}"
    if check.diagnosis.log_tail:
        yield ""
        yield f"the end of the server's log, at {check.id}:"
        yield from (f"  | {line}" for line in check.diagnosis.log_tail.splitlines())


def _place(machine: Machine) -> str:
    where = f"{machine.gpu}, driver {machine.driver}" if machine.gpu else "on the CPU"
    return f"{where}, {machine.engine}"
