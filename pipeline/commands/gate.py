"""``cubingate gate``: evidence in, verdict out; builds and runs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands import options
from pipeline.commands.surroundings import open_street, planned
from pipeline.errors import ExitStatus, UsageError
from pipeline.model.document import document

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pipeline.gate import LaneVerdict


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    options.add_matrix(parser)
    options.add_lanes(parser)
    options.add_state(parser)
    parser.add_argument(
        "--evidence",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="another directory of evidence, beside the state's own (repeatable)",
    )
    parser.add_argument("--explain", metavar="LANE", help="every required check of this lane, and what became of it")
    options.add_format(parser)
    options.add_output(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Judge the selected lanes and print the verdict."""
    from pipeline.gate import status_of
    from pipeline.stages.gate import judge_lanes

    plan = planned(arguments)
    for directory in arguments.evidence:
        if not directory.is_dir():
            raise UsageError(f"{directory} is not a directory")
    with open_street(arguments) as street:
        verdicts = judge_lanes(plan.lanes, street, {}, more_evidence=tuple(arguments.evidence))
    options.emit(arguments, _rendered(arguments, verdicts))
    return status_of(verdicts)


def gate_document(verdicts: Sequence[LaneVerdict]) -> str:
    """The contract's ``gate`` document."""
    approved = all(verdict.approved for verdict in verdicts)
    lanes = [verdict.to_json() for verdict in verdicts]
    return document("gate", {"lanes": lanes, "verdict": "approved" if approved else "refused"})


def _rendered(arguments: argparse.Namespace, verdicts: Sequence[LaneVerdict]) -> str:
    from pipeline.report.gate_text import explanation, summary

    if arguments.format == "json":
        return gate_document(verdicts)
    color = options.colored(arguments)
    if arguments.explain is None:
        return summary(verdicts, color=color)
    named = [verdict for verdict in verdicts if verdict.lane.id == arguments.explain]
    if not named:
        known = ", ".join(verdict.lane.id for verdict in verdicts)
        raise UsageError(f"no lane {arguments.explain!r}", remedy=f"lanes: {known}")
    return explanation(named[0], color=color)
