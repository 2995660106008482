"""``cubingate plan``: expand matrix.yaml into lanes and lint them; builds nothing."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.commands.options import (
    add_format,
    add_lanes,
    add_matrix,
    colored,
    emit,
    environment,
    terminal_width,
)
from pipeline.errors import ExitStatus, NothingExamined

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pipeline.model.finding import Finding
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
        "--runners",
        action="store_true",
        help="instead, ask GitHub (GITHUB_REPOSITORY, RUNNERS_TOKEN) whether every runner that is asked for exists: "
        "status 1 when one does not, 0 and a word about it when there is no token to ask with",
    )
    selection = parser.add_mutually_exclusive_group()
    selection.add_argument(
        "--skip-on-demand", action="store_true", help="leave out the lanes that are built only when --lane names them"
    )
    selection.add_argument(
        "--release",
        action="store_true",
        help="what a release builds: every lane, those on demand only where a publisher takes all lanes or none",
    )
    add_format(parser, ("table", "json", "github", "ids"))


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Print the plan; status 2 when a lint says that it cannot succeed, 0 with warnings."""
    from pipeline.matrix.lint import failed, lint
    from pipeline.matrix.load import load_plan
    from pipeline.policy import load_policy
    from pipeline.report.plan import complaints

    policy = load_policy()
    plan = load_plan(arguments.matrix, only=arguments.lane, policy=policy)
    if arguments.skip_on_demand or (arguments.release and all(each.partial for each in plan.publishers)):
        plan = _without_on_demand(plan)
    findings = lint(plan, policy)
    usable = not failed(findings)
    for_a_workflow = arguments.gpu_runs or arguments.runners or arguments.format in {"github", "ids"}
    if for_a_workflow:
        sys.stderr.writelines(f"{line}\n" for line in complaints(findings, color=False))
    if arguments.runners and usable:
        return _ask_for_runners(plan, policy)
    # An unusable matrix is not handed to a workflow.
    if usable or not for_a_workflow:
        runs = arguments.gpu_runs
        emit(arguments, _runs(arguments, plan, policy) if runs else _lanes(arguments, plan, findings))
    return ExitStatus.PASS if usable else ExitStatus.USAGE


def _lanes(arguments: argparse.Namespace, plan: Plan, findings: Sequence[Finding]) -> str:
    from pipeline.matrix.lint import GITHUB_JOBS
    from pipeline.report import plan as report

    if arguments.format == "json":
        return report.plan_json(plan, findings)
    if arguments.format == "github":
        from pipeline.workflow.outputs import fitting, lane_artifact, output_names

        output_names(lane_artifact(lane.id) for lane in plan.lanes)
        return fitting(report.plan_github(plan, most=GITHUB_JOBS))
    if arguments.format == "ids":
        return " ".join(lane.id for lane in plan.lanes)
    return report.plan_table(plan, findings, color=colored(arguments), width=terminal_width(arguments))


def _without_on_demand(plan: Plan) -> Plan:
    """``NothingExamined`` when every lane is built on demand."""
    lanes = tuple(lane for lane in plan.lanes if not lane.on_demand)
    if not lanes:
        raise NothingExamined(f"{plan.matrix_file}: every lane is built on demand", remedy="name some with --lane")
    return replace(plan, lanes=lanes)


def _ask_for_runners(plan: Plan, policy: Policy) -> ExitStatus:
    from pipeline.commands.repository import this_repository
    from pipeline.matrix.gpu_runs import gpu_runs
    from pipeline.stages.runners import served
    from pipeline.workflow.actions import load_hosted

    token = environment().get("RUNNERS_TOKEN")
    if not token:
        sys.stderr.write("runners: not asked for: no RUNNERS_TOKEN\n")
        return ExitStatus.PASS
    labels = [*(run.runner for run in gpu_runs(plan, policy)), *(lane.runner for lane in plan.lanes)]
    with this_repository(environment(), token) as github:
        answer = served([each for each in labels if each], github, load_hosted())
    sys.stderr.writelines(f"runners: {line}\n" for line in answer.told)
    return answer.status


def _runs(arguments: argparse.Namespace, plan: Plan, policy: Policy) -> str:
    from pipeline.matrix.gpu_runs import demand_runners, gpu_runs
    from pipeline.matrix.lint import GITHUB_JOBS
    from pipeline.report import gpu_runs as report
    from pipeline.workflow.outputs import fitting_variable

    runs = gpu_runs(plan, policy)
    if arguments.format == "json":
        return report.runs_json(runs)
    if arguments.format == "github":
        demand_runners(runs)
        return fitting_variable(report.runs_github(runs, most=GITHUB_JOBS))
    return report.runs_table(runs, plan, color=colored(arguments), width=terminal_width(arguments))
