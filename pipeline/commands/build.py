"""``cubingate build``: the bundles of the selected lanes, built in containers or fetched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.commands import options
from pipeline.commands.build_settings import CA_BUNDLE, JOBS, settings_for
from pipeline.errors import CubingateError, ExitStatus, Interrupted, NothingExamined, Terminated

if TYPE_CHECKING:
    import argparse

    from pipeline.model.lane import Lane
    from pipeline.stages.street import Street


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    options.add_matrix(parser)
    options.add_lanes(parser)
    options.add_state(parser)
    parser.add_argument(
        "--ca-bundle",
        metavar="FILE",
        help=f"certificates to trust while fetching and building; in no result (default ${CA_BUNDLE})",
    )
    parser.add_argument("--jobs", metavar="N", help=f"compilers at once (default ${JOBS}, else every processor)")


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Build lane after lane; a failed one does not stop the others. Answers with the gravest status."""
    from pipeline.commands.surroundings import open_street, planned

    chosen = {CA_BUNDLE: arguments.ca_bundle, JOBS: arguments.jobs}
    environment = {**options.environment(), **{name: value for name, value in chosen.items() if value is not None}}
    lanes = [lane for lane in planned(arguments).lanes if not lane.on_demand or lane.id in arguments.lane]
    if not lanes:
        raise NothingExamined("every lane is built on demand only", remedy="name one with --lane")
    with open_street(arguments) as usual:
        street = replace(usual, build=settings_for(arguments.matrix, environment))
        return ExitStatus.gravest([_build(lane, street, arguments) for lane in lanes])


def _build(lane: Lane, street: Street, arguments: argparse.Namespace) -> ExitStatus:
    from pipeline.stages.build import build_bundle

    try:
        artifact = build_bundle(lane, street)
    except (Interrupted, Terminated):
        raise
    except CubingateError as error:
        street.talk.say(f"{lane.id}  not built: {error}", "red")
        return error.status
    options.emit(arguments, f"{artifact.sha256}  {artifact.path}")
    return ExitStatus.PASS
