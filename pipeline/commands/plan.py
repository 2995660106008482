"""``cubingate plan``: expand matrix.yaml into lanes and lint them; builds nothing."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.commands.options import add_format, add_lanes, add_matrix, colored, emit
from pipeline.errors import ExitStatus, NothingExamined

if TYPE_CHECKING:
    import argparse

    from pipeline.model.lane import Plan
    from pipeline.policy import Policy


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_matrix(parser)
    add_lanes(parser)
    parser.add_argument(
        "--gpu-runs",
        action="store_true",
        help="print the smallest set of machines with a GPU that proves every promised target, instead of the lanes",
    )
    parser.add_argument(
        "--skip-on-demand", action="store_true", help="leave out the lanes that are built only when --lane names them"
    )
    add_format(parser, ("table", "json", "github", "ids"))


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Print the plan; status 2 when a lint says that it cannot succeed, 0 with warnings."""
    from pipeline.matrix.lint import GITHUB_JOBS, failed, lint
    from pipeline.matrix.load import load_plan
    from pipeline.policy import load_policy
    from pipeline.report import plan as report

    policy = load_policy()
    plan = load_plan(arguments.matrix, only=arguments.lane, policy=policy)
    if arguments.skip_on_demand:
        plan = _without_on_demand(plan)
    findings = lint(plan, policy)
    usable = not failed(findings)
    if arguments.gpu_runs or arguments.format in {"github", "ids"}:
        sys.stderr.writelines(f"{line}\n" for line in report.complaints(findings, color=False))
    if arguments.gpu_runs:
        if usable:
            emit(arguments, _runs(arguments, plan, policy))
    elif arguments.format == "json":
        emit(arguments, report.plan_json(plan, findings))
    elif arguments.format == "ids":
        if usable:
            emit(arguments, " ".join(lane.id for lane in plan.lanes))
    elif arguments.format == "github":
        text = report.plan_github(plan, most=GITHUB_JOBS)
        # An unusable matrix is not handed to a workflow.
        if usable:
            emit(arguments, text)
    else:
        emit(arguments, report.plan_table(plan, findings, color=colored(arguments)))
    return ExitStatus.PASS if usable else ExitStatus.USAGE


def _without_on_demand(plan: Plan) -> Plan:
    """``NothingExamined`` when every lane is built on demand."""
    lanes = tuple(lane for lane in plan.lanes if not lane.on_demand)
    if not lanes:
        raise NothingExamined(f"{plan.matrix_file}: every lane is built on demand", remedy="name some with --lane")
    return replace(plan, lanes=lanes)


def _runs(arguments: argparse.Namespace, plan: Plan, policy: Policy) -> str:
    from pipeline.matrix.gpu_runs import gpu_runs
    from pipeline.report import gpu_runs as report

    runs = gpu_runs(plan, policy)
    if arguments.format == "json":
        return report.runs_json(runs)
    if arguments.format == "github":
        return report.runs_github(runs)
    return report.runs_table(runs, plan, color=colored(arguments))
