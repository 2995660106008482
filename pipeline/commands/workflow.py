"""``cubingate workflow``: the GitHub workflow of a matrix.yaml, and what its jobs call between themselves."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

from pipeline import __version__
from pipeline.commands import options
from pipeline.errors import ExitStatus, UsageError

if TYPE_CHECKING:
    import argparse


KINDS = ("release", "pull-request", "nightly")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    options.add_matrix(parser)
    options.add_state(parser)
    parser.add_argument("--kind", choices=KINDS, help="which workflow (default release; --check: all that are there)")
    parser.add_argument(
        "--install",
        metavar="REQUIREMENT",
        default=f"cubingate=={__version__}",
        help="what the workflow's jobs install with pip (default this version)",
    )
    options.add_output(parser)
    job = parser.add_mutually_exclusive_group()
    job.add_argument(
        "--check",
        action="store_true",
        help="compare with .github/workflows/KIND.yml beside the matrix file instead: status 1 and a diff when stale",
    )
    job.add_argument("--seal", metavar="NAME", help="in a job: gather what artifact NAME is to hold, print its digest")
    job.add_argument(
        "--unseal",
        metavar="VARIABLE",
        action="append",
        default=[],
        help="in a job: hold what was downloaded against the digests in this variable, a job's outputs as JSON",
    )


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Print the workflow, or do what a job asks for."""
    if arguments.seal is not None:
        from pipeline.stages.seal import seal

        options.emit(arguments, seal(arguments.seal, arguments.state))
        return ExitStatus.PASS
    if arguments.unseal:
        return _unseal(arguments)
    return _check(arguments) if arguments.check else _print(arguments)


def _print(arguments: argparse.Namespace) -> ExitStatus:
    options.emit(arguments, _rendered(arguments, arguments.kind or "release"))
    return ExitStatus.PASS


def _check(arguments: argparse.Namespace) -> ExitStatus:
    """Every kind whose file is there, or the one that was asked for; ``UsageError`` when there is nothing to check."""
    folder = arguments.matrix.parent / ".github" / "workflows"
    kinds = [arguments.kind] if arguments.kind else KINDS
    files = {kind: folder / f"{kind}.yml" for kind in kinds}
    there = {kind: file for kind, file in files.items() if file.is_file()}
    if not there:
        raise UsageError(f"{folder} has no workflow to check", remedy="`cubingate workflow --output FILE` makes one")
    status = ExitStatus.PASS
    for kind, file in there.items():
        written, rendered = file.read_text(encoding="utf-8"), _rendered(arguments, kind)
        if written != rendered:
            status = ExitStatus.REFUSED
            lines = difflib.unified_diff(
                written.splitlines(keepends=True), rendered.splitlines(keepends=True), str(file), "as rendered now"
            )
            sys.stdout.writelines(lines)
    return status


def _rendered(arguments: argparse.Namespace, kind: str) -> str:
    from pipeline.commands.surroundings import planned
    from pipeline.matrix.gpu_runs import gpu_runs
    from pipeline.policy import load_policy
    from pipeline.resources import find_resources
    from pipeline.workflow.actions import load_actions
    from pipeline.workflow.render import Kind, Repository, render

    plan = planned(arguments)
    return render(
        Kind(kind),
        plan,
        gpu_runs(plan, load_policy()),
        Repository(matrix_file=arguments.matrix.name, install=arguments.install),
        actions=load_actions(),
        templates=find_resources().templates,
    )


def _unseal(arguments: argparse.Namespace) -> ExitStatus:
    from pipeline.stages.seal import unseal

    environment = options.environment()
    missing = [name for name in arguments.unseal if name not in environment]
    if missing:
        raise UsageError(f"the environment has no {', '.join(missing)}", remedy="set it to toJSON(needs.JOB.outputs)")
    for line in unseal(arguments.state, [environment[name] for name in arguments.unseal]):
        sys.stderr.write(f"{line}\n")
    return ExitStatus.PASS
