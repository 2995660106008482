"""``cubingate smoke``: unpack a bundle, start its server, ask for one token."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands import options
from pipeline.errors import ExitStatus, UsageError

if TYPE_CHECKING:
    import argparse

    from pipeline.machine import InstalledGpu
    from pipeline.model.lane import Lane
    from pipeline.serve.outcome import SmokeReport


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "path", metavar="PATH", type=Path, help="the bundle: archive, wheel, folder or the server itself"
    )
    options.add_matrix(parser, default=None)
    options.add_lanes(parser)
    parser.add_argument(
        "--models",
        metavar="NAME",
        action="append",
        default=[],
        help="generated models to serve: family (all of them) or one by name (repeatable; default tiny)",
    )
    parser.add_argument("--device", default="cpu", help="cpu (the default), cuda, cuda:N, or a GPU's UUID")
    options.add_state(parser)
    options.add_sign(parser)
    options.add_format(parser)
    options.add_output(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Smoke and print; with a lane the outcome goes on record as its evidence."""
    from pipeline.machine import installed_gpus
    from pipeline.serve.device import find_device

    if not arguments.path.exists():
        raise UsageError(f"there is no bundle {arguments.path}")
    gpu = find_device(arguments.device, installed_gpus)
    report = _smoke_lane(arguments, gpu) if arguments.lane or arguments.matrix else _smoke_alone(arguments, gpu)
    options.emit(arguments, _written(arguments, report))
    return report.status


def _smoke_alone(arguments: argparse.Namespace, gpu: InstalledGpu | None) -> SmokeReport:
    from pipeline.engine.process import ProcessEngine
    from pipeline.inventory.digest import digest_of
    from pipeline.machine import this_machine
    from pipeline.serve.bundle import Place, smoke_bundle
    from pipeline.stages.smoke import error_finder, leased, scratch_folder

    environment = options.environment()
    with scratch_folder(arguments.state) as workspace, leased(gpu, _note):
        place = Place(
            machine=this_machine(engine="process", gpu=gpu),
            engine=ProcessEngine(environment),
            environment=environment,
            workspace=workspace,
            cache=arguments.state / "cache",
            log=arguments.state / "smoke" / "server.log",
            named_in=error_finder(),
        )
        return smoke_bundle(arguments.path, lambda: digest_of(arguments.path), None, place, tuple(arguments.models))


def _smoke_lane(arguments: argparse.Namespace, gpu: InstalledGpu | None) -> SmokeReport:
    from pipeline.commands.surroundings import open_street
    from pipeline.inventory.digest import digest_of
    from pipeline.model.artifact import Artifact
    from pipeline.stages.check import record
    from pipeline.stages.smoke import observed, smoke_on

    if arguments.models:
        raise UsageError(
            "evidence of a lane is about the models that it names", remedy="set smoke.models in the matrix file"
        )
    lane = _lane(arguments)
    path: Path = arguments.path
    artifact = Artifact(lane.id, path, digest_of(path), path.stat().st_size, recipe_digest="")
    check = f"smoke@{gpu.label if gpu else 'cpu'}"
    with open_street(arguments) as street:
        started = street.now()
        report = smoke_on(gpu, lane, artifact, check, street)
        record(lane, artifact, check, observed(report, check), started=started, street=street)
    return report


def _lane(arguments: argparse.Namespace) -> Lane:
    from pipeline.commands.surroundings import planned

    if len(arguments.lane) != 1:
        raise UsageError("a smoke is about one lane", remedy="give --matrix FILE and exactly one --lane ID")
    arguments.matrix = arguments.matrix or Path("matrix.yaml")
    (lane,) = planned(arguments).lanes
    return lane


def _note(line: str) -> None:
    sys.stderr.write(f"cubingate: {line}\n")


def _written(arguments: argparse.Namespace, report: SmokeReport) -> str:
    if arguments.format == "json":
        from pipeline.model.document import document

        return document("smoke", report.to_json())
    from pipeline.report.smoke_text import smoke_text

    color = options.colored(arguments)
    return smoke_text(report, color=color, width=options.terminal_width(arguments))
