"""``cubingate diff OLD NEW``: what a release lost against the one before it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pipeline.commands.artifact import HELP, artifact
from pipeline.commands.options import add_format, add_output, colored, emit, environment, terminal_width
from pipeline.errors import NothingExamined, UsageError

if TYPE_CHECKING:
    import argparse

    from pipeline.diff import Difference
    from pipeline.errors import ExitStatus


def configure(parser: argparse.ArgumentParser) -> None:
    """The two artifacts, and which losses are meant."""
    parser.add_argument("old", metavar="OLD", type=artifact, help=f"what was released before: {HELP}")
    parser.add_argument("new", metavar="NEW", type=artifact, help="what is to be released")
    parser.add_argument("--kernels", action="store_true", help="compare kernels by name too (unpacks every payload)")
    parser.add_argument(
        "--allow", metavar="RULE", action="append", default=[], help="a loss that is meant, as arch-lost (repeatable)"
    )
    add_format(parser)
    add_output(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Compare and print; status 1 when something was lost."""
    from pathlib import Path

    from pipeline.audit.run import read_or_damage
    from pipeline.diff import compare
    from pipeline.policy import load_policy
    from pipeline.report.progress import patience

    for path in (arguments.old, arguments.new):
        if isinstance(path, Path) and not path.exists():
            raise UsageError(f"{path} does not exist", remedy="name a file or a folder")
    with patience(sys.stderr, environment(), f"comparing {arguments.new}"):
        sides = (arguments.old, arguments.new)
        old, new = (read_or_damage(path, deep=False, kernels=arguments.kernels) for path in sides)
        found = compare(old, new, load_policy(), allow=arguments.allow)
    emit(arguments, _written(arguments, found))
    if not found.examined and not found.corrupt:
        raise NothingExamined(
            f"{arguments.old}, {arguments.new}: neither ELF nor device code", remedy="name the bundles themselves"
        )
    return found.status


def _written(arguments: argparse.Namespace, found: Difference) -> str:
    if arguments.format == "json":
        from pipeline.report.diff_json import diff_json

        return diff_json(found)
    from pipeline.report.diff_text import diff_text

    return diff_text(found, color=colored(arguments), width=terminal_width(arguments))
