"""The gate's verdict as text: which lanes may be published, and for the others what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.gate import LaneVerdict, Standing
from pipeline.gate.standing import assemblers_of
from pipeline.model.paths import printable
from pipeline.report.color import paint
from pipeline.report.columns import columns
from pipeline.report.fold import folded
from pipeline.report.shown import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.gate import TargetStanding
    from pipeline.gate.self_test import Case
    from pipeline.model.evidence import Evidence

_STYLES = {
    Standing.PROVEN: "green",
    Standing.REHEARSED: "green",
    Standing.INFERRED: "green",
    Standing.WAIVED: "yellow",
    Standing.MISSING: "red",
    Standing.FAILED: "red",
}


_DEEPER = "\n      "


def summary(verdicts: Sequence[LaneVerdict], *, color: bool, width: int = 0) -> str:
    """One line per lane, then the count: what a maintainer reads first. ``width`` 0 folds nothing."""
    rows = [(verdict.lane.id, _word(verdict), _why(verdict)) for verdict in verdicts]
    lines = columns(
        ("lane", "verdict", "why"),
        rows,
        painted=lambda cell, column: _painted(cell, color=color) if column == 1 else cell,
        titled=lambda line: paint(line, "bold", color=color),
        width=width,
    )
    approved = sum(verdict.approved for verdict in verdicts)
    return "\n".join([*lines, "", f"{approved} of {len(verdicts)} lanes approved"])


def explanation(verdict: LaneVerdict, *, color: bool, width: int = 0, refused: int = 0) -> str:
    """Every required check of one lane: what it needs, what it has, what is missing; ``refused`` other lanes are."""
    digest = verdict.artifact.sha256 if verdict.artifact else "no bundle"
    lines = [f"{verdict.lane.id}: {_word(verdict)}", f"  bundle  {digest}"]
    for check in verdict.checks:
        standing = paint(f"{check.standing.value:9}", _STYLES[check.standing], color=color)
        lines.append(f"  {standing} {check.check}{_because(check.reason)}{_where(check.evidence)}")
    lines += [line for target in verdict.targets for line in _target(target, color=color)]
    if verdict.approved and refused:
        lanes = "1 other lane is" if refused == 1 else f"{refused} other lanes are"
        lines += [
            "",
            f"{lanes} refused, which the exit status tells too: --lane {verdict.lane.id} judges this one alone",
        ]
    return "\n".join(folded((row for line in lines for row in line.split("\n")), width))


def self_test(cases: Sequence[Case], *, color: bool, width: int = 0) -> str:
    """One line for each case, the wrong ones marked, then the count."""
    lines = []
    for case in cases:
        word = "approved" if case.approved else "refused"
        marked = paint(f"{word:8}", "green" if case.right else "red", color=color)
        lines.append(f"{'  ' if case.right else '! '}{marked}  {case.name}{_because(case.reason)}")
    wrong = sum(not case.right for case in cases)
    return "\n".join(folded([*lines, "", f"{len(cases)} cases, {wrong or 'none'} judged wrongly"], width))


def _target(target: TargetStanding, *, color: bool) -> list[str]:
    """How one promised target is known to be served: where and when it was seen, or from which rules it follows."""
    name = f"{target.target.label}{f' ({target.target.gpu})' if target.target.gpu else ''}"
    lines = [f"  target {name}: {paint(target.standing.value, _STYLES[target.standing], color=color)}"]
    lines[0] += f" ({target.target.suffices} suffices)" if not target.target.required else ""
    lines += [f"    seen  {record.check}, {record.finished[:16]}{_where(record)}" for record in target.proofs]
    lines += [
        f"    with  {word}, {record.finished[:16]}" for record in target.rehearsals for word in assemblers_of(record)
    ]
    if target.rules and target.standing is not Standing.PROVEN:
        lines.append(f"    by    {', '.join(target.rules)}")
    if target.reason:
        lines.append(f"    why   {_line(target.reason)}")
    if target.elsewhere:
        lines.append(f"    also  passed on {', '.join(target.elsewhere)}, which is another promise")
    return lines


def _word(verdict: LaneVerdict) -> str:
    return "PASS" if verdict.approved else "REFUSED"


def _painted(cell: str, *, color: bool) -> str:
    return paint(cell, "green" if cell.startswith("PASS") else "red", color=color)


def _why(verdict: LaneVerdict) -> str:
    """What refuses the lane, each reason once with the checks it stands for; what approves it otherwise."""
    if verdict.approved:
        return ", ".join(f"{check.check} {check.standing.value}" for check in verdict.checks)
    reasons: dict[str, list[str]] = {}
    for check in verdict.checks:
        if check.standing in {Standing.MISSING, Standing.FAILED}:
            reasons.setdefault(check.reason, []).append(check.check)
    if list(reasons.values()) == [[check.check for check in verdict.checks]] and verdict.artifact is None:
        return _line(next(iter(reasons)))
    return "; ".join(f"{', '.join(checks)}: {_line(reason)}" for reason, checks in reasons.items())


def _because(reason: str) -> str:
    """Lines of a reason stay lines of this check: none of them can pass for another check's."""
    lines = [printable(line) for line in reason.splitlines()]
    return f": {_DEEPER.join(lines)}" if lines else ""


def _line(reason: str) -> str:
    return shown(" ".join(reason.splitlines()))


def _where(evidence: Evidence | None) -> str:
    if evidence is None:
        return ""
    machine = evidence.machine
    place = f"{machine.gpu}, driver {machine.driver}" if machine.device == "cuda" else "CPU"
    stand_in = f", stand-in: {machine.stand_in}" if machine.stand_in else ""
    return f"  [{place}, {machine.engine}{stand_in}]"
