"""``cubingate load``: every device-code module of an artifact through the driver of this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands.options import add_format, add_output, colored, emit, environment
from pipeline.errors import ExitStatus, NothingExamined, UsageError

if TYPE_CHECKING:
    import argparse

    from pipeline.gpu.report import LoadReport
    from pipeline.policy import Policy

_MOST_JOBS = 32  # up to six processes with a context each, and three descriptors for each of them


def configure(parser: argparse.ArgumentParser) -> None:
    """What to load, where, and how long that may take."""
    parser.add_argument("path", metavar="PATH", type=Path, help="file, archive, wheel or folder")
    parser.add_argument("--device", metavar="N|UUID", default="0", help="index, GPU-… or MIG-… (default 0)")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=300.0, help="for one container (default 300)"
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=float,
        default=600.0,
        help="for a device that another check holds (600)",
    )
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="containers at the same time (default 1)")
    parser.add_argument("--fresh", action="store_true", help="repeat each failing container in a process of its own")
    add_format(parser)
    add_output(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Load and print; the status is the contract's."""
    from pipeline.gpu.device import Selector
    from pipeline.gpu.load import load_modules
    from pipeline.gpu.settings import Limits, LoadSettings

    if arguments.timeout <= 0 or arguments.wait < 0 or not 1 <= arguments.jobs <= _MOST_JOBS:
        raise UsageError(
            f"--timeout and --wait are seconds, --jobs is from 1 to {_MOST_JOBS}",
            remedy="such as --timeout 300 --wait 600 --jobs 4",
        )
    settings = LoadSettings(
        environment=environment(),
        selector=Selector.parse(arguments.device),
        limits=Limits(container=arguments.timeout),
        wait=arguments.wait,
        fresh=arguments.fresh,
        jobs=arguments.jobs,
        note=_note,
    )
    report = load_modules(arguments.path, _policy, settings)
    emit(arguments, _written(arguments, report))
    return _concluded(arguments, report)


def _policy() -> Policy:
    from pipeline.policy import load_policy

    return load_policy()


def _note(line: str) -> None:
    sys.stderr.write(f"cubingate: {line}\n")


def _written(arguments: argparse.Namespace, report: LoadReport) -> str:
    if arguments.format == "json":
        from pipeline.model.document import document

        return document("load", report.to_json())
    from pipeline.report.load_text import load_text

    return load_text(report, color=colored(arguments))


def _concluded(arguments: argparse.Namespace, report: LoadReport) -> ExitStatus:
    """Say on stderr, whatever the format, that the rules were wrong; end in the report's status."""
    from pipeline.report.load_text import disagreements

    for line in disagreements(report):
        _note(line)
    if report.status is ExitStatus.NOTHING_EXAMINED:
        raise NothingExamined(
            f"{arguments.path}: no device code that a driver loads", remedy="name the bundle or the library itself"
        )
    return report.status
