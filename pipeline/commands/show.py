"""``cubingate show``: what is inside, as a table of SM by driver branch with floors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands.artifact import HELP, artifact
from pipeline.commands.locks import add_lock_options, lock_reader
from pipeline.commands.options import add_format, add_output, emit, environment, terminal_width
from pipeline.errors import ExitStatus, NothingExamined

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """What to show."""
    parser.add_argument("path", metavar="PATH", type=artifact, help=HELP)
    parser.add_argument("--kernels", action="store_true", help="kernels by name and SM (unpacks every payload)")
    add_lock_options(parser)
    add_format(parser)
    add_output(parser)


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Read the artifact and print the table."""
    from pipeline.audit.shown import show
    from pipeline.inventory import take_inventory
    from pipeline.policy import load_policy
    from pipeline.report.progress import patience

    lock = lock_reader(arguments, (arguments.path,), None, None)
    if lock is not None and isinstance(arguments.path, Path):
        inventory = lock(arguments.path, deep=False, kernels=arguments.kernels)
    else:
        with patience(sys.stderr, environment(), f"reading {arguments.path}"):
            inventory = take_inventory(arguments.path, kernels=arguments.kernels)
    if not inventory.elves and not inventory.fatbins and not inventory.bare and not inventory.damage:
        raise NothingExamined(f"{arguments.path}: neither ELF nor device code", remedy="name the bundle itself")
    shown = show((inventory,), load_policy())
    if arguments.format == "json":
        from pipeline.report.show_json import show_json

        emit(arguments, show_json(shown))
    else:
        from pipeline.report.show_text import show_text

        emit(arguments, show_text(shown, width=terminal_width(arguments)))
    return ExitStatus.CORRUPT_INPUT if inventory.damage else ExitStatus.PASS
