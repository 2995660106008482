"""``cubingate gate``: evidence in, verdict out; builds and runs nothing."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
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
    parser.add_argument(
        "--self-test", action="store_true", help="show the gate known-bad evidence and artifacts; it must refuse each"
    )
    options.add_format(parser, options.GATE_FORMATS)
    options.add_also(parser, options.GATE_FORMATS)
    options.add_output(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Judge the selected lanes and print the verdict."""
    if arguments.self_test:
        return _self_test(arguments)
    from pipeline.evidence import check_directory
    from pipeline.gate import status_of
    from pipeline.stages.gate import judge_plan

    plan = planned(arguments)
    for directory in arguments.evidence:
        check_directory(directory)
    with open_street(arguments) as street:
        verdicts = judge_plan(plan, street, {}, more_evidence=tuple(arguments.evidence))
    options.emit_all(arguments, lambda asked: _rendered(asked, verdicts))
    return status_of(verdicts)


def _self_test(arguments: argparse.Namespace) -> ExitStatus:
    """Status 1 when the gate approved what it must refuse, or refused what it must approve."""
    if arguments.also or arguments.format not in {"text", "json"}:
        raise UsageError("--self-test has text and json alone", remedy="ask for text or json")
    from pipeline.gate.self_test import run_self_test
    from pipeline.policy import load_policy
    from pipeline.policy.digest import tables_digest
    from pipeline.report.gate_text import self_test

    with tempfile.TemporaryDirectory(prefix="cubingate-") as folder:
        cases = run_self_test(Path(folder), load_policy(), tables_digest(), now=datetime.now(UTC))
    right = all(case.right for case in cases)
    if arguments.format == "json":
        content = {"cases": [case.to_json() for case in cases], "verdict": "pass" if right else "fail"}
        options.emit(arguments, document("gate-self-test", content))
    else:
        options.emit(
            arguments, self_test(cases, color=options.colored(arguments), width=options.terminal_width(arguments))
        )
    return ExitStatus.PASS if right else ExitStatus.REFUSED


def gate_document(verdicts: Sequence[LaneVerdict]) -> str:
    """The contract's ``gate`` document."""
    approved = all(verdict.approved for verdict in verdicts)
    lanes = [verdict.to_json() for verdict in verdicts]
    return document("gate", {"lanes": lanes, "verdict": "approved" if approved else "refused"})


def _rendered(arguments: argparse.Namespace, verdicts: Sequence[LaneVerdict]) -> str:
    from pipeline.report.gate_text import explanation, summary

    if arguments.format == "json":
        return gate_document(verdicts)
    told = verdicts if arguments.explain is None else [_named(arguments.explain, verdicts)]
    if arguments.format != "text":
        from pipeline.report.written import written_gate

        return written_gate(arguments.format, told, Path.cwd())
    color, width = options.colored(arguments), options.terminal_width(arguments)
    if arguments.explain is None:
        return summary(told, color=color, width=width)
    others = sum(not verdict.approved for verdict in verdicts if verdict is not told[0])
    return explanation(told[0], color=color, width=width, refused=others)


def _named(lane: str, verdicts: Sequence[LaneVerdict]) -> LaneVerdict:
    for verdict in verdicts:
        if verdict.lane.id == lane:
            return verdict
    known = ", ".join(verdict.lane.id for verdict in verdicts)
    raise UsageError(f"no lane {lane!r}", remedy=f"lanes: {known}")
