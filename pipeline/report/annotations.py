"""Workflow commands that GitHub shows on the lines of matrix.yaml, aggregated: of each type it shows ten for a step.

Sources: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands (syntax), @actions/core
``command.ts`` (escaping), https://github.com/orgs/community/discussions/26680 (limits).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.finding import Severity
from pipeline.report.gate_view import why
from pipeline.report.places import Place, lane_place
from pipeline.report.shown import counted, shown, times
from pipeline.report.told import by_rule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import PurePath

    from pipeline.gate import LaneVerdict
    from pipeline.report.told import RuleFindings, Told

MOST = 10
"""Annotations of one type that GitHub shows for a step, without a word about the others."""

_MOST_TITLES = 50
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation; without a place it is shown with the job alone."""

    severity: Severity
    title: str
    message: str
    place: Place | None


def audit_annotations(told: Told, root: PurePath) -> str:
    """One for each rule and severity, at the lane's setting where a lane is named."""
    return _commands([_group(told, group, root) for group in by_rule(told.findings)])


def gate_annotations(verdicts: Sequence[LaneVerdict], root: PurePath) -> str:
    """One for each refused lane, at its line."""
    return _commands(
        [
            Annotation(Severity.ERROR, f"{each.lane.id} is refused", why(each), lane_place(each.lane, root))
            for each in verdicts
            if not each.approved
        ]
    )


def command(annotation: Annotation) -> str:
    """The line; whatever the texts hold, it stays one line and one command."""
    properties = {"title": annotation.title}
    if annotation.place:
        place = annotation.place
        properties = {"file": place.file, "line": str(place.line), "col": str(place.column), **properties}
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[annotation.severity]} {told}::{_data(annotation.message)}"


def _group(told: Told, group: RuleFindings, root: PurePath) -> Annotation:
    first, more = group.findings[0], len(group.findings) - 1
    lines = [
        shown(first.observed),
        f"declared: {shown(first.declared)}",
        f"fix: {shown(first.remedy)}",
        f"at: {shown(first.path)}{f' and {more} more' if more else ''}",
    ]
    place = lane_place(told.lane, root, group.rule) if told.lane else None
    title = f"{group.rule}{times(group.count)} in {told.lane.id if told.lane else told.name}"
    return Annotation(group.severity, title, "\n".join(lines), place)


def _commands(annotations: Sequence[Annotation]) -> str:
    lines: list[str] = []
    for severity in Severity:
        alike = [annotation for annotation in annotations if annotation.severity is severity]
        kept = alike if len(alike) <= MOST else alike[: MOST - 1]
        lines += [command(annotation) for annotation in kept]
        if rest := alike[len(kept) :]:
            lines.append(command(_rest(severity, rest)))
    return "".join(f"{line}\n" for line in lines)


def _rest(severity: Severity, rest: Sequence[Annotation]) -> Annotation:
    """What is told of those beyond the limit."""
    titles = [item.title for item in rest[:_MOST_TITLES]]
    titles += [f"and {len(rest) - _MOST_TITLES} more"] if len(rest) > _MOST_TITLES else []
    return Annotation(severity, counted(len(rest), f"more {severity}"), "\n".join(titles), None)


def _data(text: str) -> str:
    lines = (shown(line) for line in text.split("\n"))
    return "%0A".join(line.replace("%", "%25") for line in lines)


def _property(text: str) -> str:
    return shown(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
