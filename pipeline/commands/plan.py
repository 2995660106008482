"""``cubingate plan``: expand matrix.yaml into lanes and lint them; builds nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pipeline.commands.options import add_format, add_lanes, add_matrix, colored, emit
from pipeline.errors import ExitStatus

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_matrix(parser)
    add_lanes(parser)
    add_format(parser, ("table", "json", "github"))


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Print the plan; status 2 when a lint says that it cannot succeed, 0 with warnings."""
    from pipeline.matrix.lint import GITHUB_JOBS, failed, lint
    from pipeline.matrix.load import load_plan
    from pipeline.policy import load_policy
    from pipeline.report import plan as report

    policy = load_policy()
    plan = load_plan(arguments.matrix, only=arguments.lane, policy=policy)
    findings = lint(plan, policy)
    if arguments.format == "json":
        emit(arguments, report.plan_json(plan, findings))
    elif arguments.format == "github":
        text = report.plan_github(plan, most=GITHUB_JOBS)
        sys.stderr.writelines(f"{line}\n" for line in report.complaints(findings, color=False))
        # An unusable matrix is not handed to a workflow.
        if not failed(findings):
            emit(arguments, text)
    else:
        emit(arguments, report.plan_table(plan, findings, color=colored(arguments)))
    return ExitStatus.USAGE if failed(findings) else ExitStatus.PASS
