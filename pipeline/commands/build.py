"""``cubingate build``: the bundles of the selected lanes, built in containers or fetched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands import options
from pipeline.errors import CubingateError, ExitStatus, Interrupted, NothingExamined, Terminated, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from pipeline.build.settings import BuildSettings
    from pipeline.model.lane import Lane
    from pipeline.stages.street import Street

CA_BUNDLE = "CUBINGATE_CA_BUNDLE"
JOBS = "CUBINGATE_JOBS"

# The first one set wins; the others are what Python's and OpenSSL's clients obey.
_CA_VARIABLES = (CA_BUNDLE, "REQUESTS_CA_BUNDLE", "PIP_CERT", "SSL_CERT_FILE")
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")

# 1980-01-01, the oldest time that every archive format can say.
_DEFAULT_EPOCH = "315532800"


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


def settings_for(matrix: Path, environment: Mapping[str, str]) -> BuildSettings:
    """How this machine builds, from ``environment``; Dockerfiles beside ``matrix`` go before the shipped ones.

    ``UsageError`` for a value that is no number, or certificates that are not there.
    """
    from pipeline.build.settings import BuildSettings, Network
    from pipeline.resources import find_resources

    proxies = {name: environment.get(name) or environment.get(name.lower()) for name in _PROXY_VARIABLES}
    network = Network(
        index_url=environment.get("PIP_INDEX_URL") or None,
        ca_bundle=_ca_bundle(environment),
        proxies={name: value for name, value in proxies.items() if value},
    )
    return BuildSettings(
        resources=find_resources(beside=matrix.resolve().parent),
        network=network,
        source_date_epoch=_number("SOURCE_DATE_EPOCH", environment, _DEFAULT_EPOCH),
        jobs=_number(JOBS, environment, "0"),
    )


def _ca_bundle(environment: Mapping[str, str]) -> Path | None:
    for name in _CA_VARIABLES:
        if environment.get(name):
            path = Path(environment[name])
            if not path.is_file():
                raise UsageError(f"{name}: there is no file {path}")
            return path.resolve()
    return None


def _number(name: str, environment: Mapping[str, str], default: str) -> int:
    text = environment.get(name) or default
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{name}: {text!r} is not a whole number")
    return int(text)
