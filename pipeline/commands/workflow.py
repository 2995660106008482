"""``cubingate workflow``: the GitHub workflow of a matrix.yaml, and what its jobs call between themselves."""

from __future__ import annotations

import difflib
import json
import math
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pipeline import __version__
from pipeline.commands import options
from pipeline.errors import ExitStatus, NothingExamined, UsageError

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from pipeline.publishers.github_actions import RunJob
    from pipeline.workflow.actions import Known


_LONGEST_WATCH = timedelta(minutes=340)  # a job of GitHub's ends after 360

KINDS = ("release", "pull-request", "nightly", "gate")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    options.add_matrix(parser)
    options.add_state(parser)
    parser.add_argument("--kind", choices=KINDS, help="which workflow (default release; --check: all that are there)")
    parser.add_argument(
        "--install",
        metavar="REQUIREMENT",
        default=f"cubingate=={__version__}",
        help="what the workflow's jobs install with pip (default this version, which has to be on the package "
        "index: else git+https://HOST/OWNER/NAME@COMMIT)",
    )
    parser.add_argument(
        "--cubingate",
        metavar="OWNER/NAME@COMMIT",
        help="--check: whose action and gate may be called (default: what this one was installed from, if that was a "
        "commit)",
    )
    options.add_output(parser)
    job = parser.add_mutually_exclusive_group()
    job.add_argument(
        "--check",
        action="store_true",
        help="instead, compare with .github/workflows/KIND.yml of the matrix file's repository, and hold every "
        "workflow and action there against the properties of docs/workflow.md: status 1 with a diff, or what is unsafe",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="--check: refuse what is unsafe in files that have nothing to do with cubingate, too",
    )
    job.add_argument("--seal", metavar="NAME", help="in a job: gather what artifact NAME is to hold, print its digest")
    job.add_argument(
        "--unseal",
        choices=("BUILT", "PROVEN"),
        action="append",
        default=[],
        help="in a job: hold what was downloaded against the digests in this variable: as JSON, the outputs of the job "
        "that builds or of the one that proves",
    )
    job.add_argument(
        "--watch",
        metavar="MINUTES",
        type=_minutes,
        help="in a job: wait for the GPU runs in the variable GPU_RUNS; cancel the run when one is queued for longer "
        "while none runs (asks with GITHUB_TOKEN, which needs actions: write)",
    )


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes < math.inf:
        raise ValueError
    return minutes


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Print the workflow, or do what a job asks for."""
    if arguments.seal is not None:
        from pipeline.stages.seal import seal

        options.emit(arguments, seal(arguments.seal, arguments.state))
        return ExitStatus.PASS
    if arguments.unseal:
        return _unseal(arguments)
    if arguments.watch is not None:
        return _watch(arguments.watch)
    return _check(arguments) if arguments.check else _print(arguments)


def _print(arguments: argparse.Namespace) -> ExitStatus:
    options.emit(arguments, _rendered(arguments, arguments.kind or "release"))
    return ExitStatus.PASS


def _check(arguments: argparse.Namespace) -> ExitStatus:
    """Whether the rendered workflows are what they would be now, and every file that uses cubingate is safe.

    Of the other files it is told, and refused only where that is asked for. ``UsageError`` when there is no workflow to
    check.
    """
    from pipeline.commands.surroundings import this_cubingate
    from pipeline.scaffold.missing import top_of
    from pipeline.workflow.actions import load_known

    root = top_of(arguments.matrix) / ".github"
    files = {kind: root / "workflows" / f"{kind}.yml" for kind in ([arguments.kind] if arguments.kind else KINDS)}
    there = {kind: file for kind, file in files.items() if file.is_file()}
    every = _files_of_github(root)
    if not there and (arguments.kind or not every):
        raise UsageError(f"{root} has no workflow to check", remedy="`cubingate workflow --output FILE` makes one")
    stale = [line for kind, file in there.items() for line in _stale(arguments, kind, file)]
    origin = this_cubingate(arguments.cubingate)
    known = load_known(cubingate=f"{origin.repository}@{origin.commit}")
    ours = [file for file in every if arguments.strict or file in there.values() or "cubingate" in _read(file)]
    unsafe = {file: _unsafe(file, known) for file in every}
    sys.stdout.writelines(stale)
    for file, lines in unsafe.items():
        aside = "" if file in ours else "not refused, since it does not use cubingate: "
        sys.stderr.writelines(f"{aside}{line}\n" for line in lines)
    return ExitStatus.REFUSED if stale or any(unsafe[file] for file in ours) else ExitStatus.PASS


def _stale(arguments: argparse.Namespace, kind: str, file: Path) -> list[str]:
    from pipeline.scaffold.missing import calls_the_gate, installed_by

    text = _read(file)
    if arguments.kind is None and calls_the_gate(text):
        return []  # never rendered: `init` wrote it, and what it calls is held against the pin
    if (install := installed_by(text)) not in {None, arguments.install}:
        sys.stderr.write(f"{file}: installs {install}, not {arguments.install}: give --check the --install it has\n")
    written = text.splitlines(keepends=True)
    rendered = _rendered(arguments, kind).splitlines(keepends=True)
    return list(difflib.unified_diff(written, rendered, str(file), "as it is rendered now"))


def _files_of_github(root: Path) -> list[Path]:
    """Workflows, and the actions of this repository."""
    found = (path for ending in ("yml", "yaml") for path in root.rglob(f"*.{ending}"))
    return sorted(path for path in found if path.parent.name == "workflows" or path.stem == "action")


def _unsafe(file: Path, known: Known) -> list[str]:
    from pipeline.workflow.safety import violations

    try:
        found = violations(_read(file), known)
    except UsageError as error:
        raise UsageError(f"{file}: {error.message}", remedy=error.remedy) from error
    return [f"{file}: {violation.what} ({violation.property})" for violation in found]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8", remedy="GitHub takes no other workflow") from error


def _rendered(arguments: argparse.Namespace, kind: str) -> str:
    from pipeline.commands.surroundings import planned
    from pipeline.matrix.gpu_runs import gpu_runs
    from pipeline.policy import load_policy
    from pipeline.resources import find_resources
    from pipeline.scaffold.missing import in_repository
    from pipeline.workflow.actions import load_actions
    from pipeline.workflow.render import Kind, Repository, render

    plan = planned(arguments)
    if plan.terms.signed:
        sys.stderr.write("evidence has to be signed, and these jobs have no key: docs/workflow.md says what to do\n")
    return render(
        Kind(kind),
        plan,
        gpu_runs(plan, load_policy()),
        Repository(in_repository(arguments.matrix), arguments.install),
        actions=load_actions(),
        templates=find_resources().templates,
    )


def _unseal(arguments: argparse.Namespace) -> ExitStatus:
    from pipeline.stages.seal import Maker, unseal

    environment = options.environment()
    missing = [name for name in arguments.unseal if name not in environment]
    if missing:
        raise UsageError(f"the environment has no {', '.join(missing)}", remedy="set it to toJSON(needs.JOB.outputs)")
    for line in unseal(arguments.state, {Maker[name]: environment[name] for name in arguments.unseal}):
        sys.stderr.write(f"{line}\n")
    return ExitStatus.PASS


def _watch(minutes: float) -> ExitStatus:
    from pipeline.commands.repository import this_repository
    from pipeline.stages.watch import Watch, watch

    environment = options.environment()
    missing = [name for name in ("GITHUB_TOKEN", "GITHUB_RUN_ID", "GPU_RUNS") if not environment.get(name)]
    if missing:
        raise UsageError(
            f"the environment has no {', '.join(missing)}", remedy="see the job `watch` of a rendered workflow"
        )
    watched = Watch(
        environment["GITHUB_RUN_ID"], _job_names(environment["GPU_RUNS"]), timedelta(minutes=minutes), _LONGEST_WATCH
    )
    with this_repository(environment, environment["GITHUB_TOKEN"]) as github:
        ended = watch(github, watched, clock=lambda: datetime.now(UTC), sleep=time.sleep, tell=_tell_of)
    return ExitStatus.PASS if ended else ExitStatus.REFUSED


def _job_names(runs: str) -> frozenset[str]:
    """The names of the jobs that ``plan --gpu-runs --format github`` becomes."""
    from pipeline.workflow.outputs import proof_job

    try:
        names = frozenset(proof_job(run["id"]) for run in json.loads(runs)["include"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError("GPU_RUNS is not what `plan --gpu-runs --format github` prints") from error
    if not names:
        raise NothingExamined("GPU_RUNS has no run to watch")
    return names


def _tell_of(job: RunJob) -> None:
    from pipeline.model.finding import Severity
    from pipeline.report.annotations import Annotation, command

    what = (
        f"{job.name} waited in vain: no runner with the labels {', '.join(job.labels)} took it. The run is cancelled."
    )
    sys.stdout.write(command(Annotation(Severity.ERROR, "Nobody serves these labels", what, None)) + "\n")
    sys.stdout.flush()
