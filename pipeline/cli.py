"""The command line: find the command, run it, turn every expected failure into one line and a status."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from pipeline import __version__
from pipeline.commands import COMMANDS, NOT_YET
from pipeline.errors import CubingateError, ExitStatus, Terminated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

_EPILOG = (
    "exit statuses: 0 pass, 1 refused, 2 usage, 3 nothing examined, 4 infrastructure, 5 corrupt input, "
    "130/143 interrupted"
)


def run(argv: Sequence[str]) -> int:
    """Run one command and return the process's exit status."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return int(_dispatch(argv))
    except CubingateError as error:
        _complain(error)
        return int(error.status)
    except KeyboardInterrupt:
        sys.stderr.write("cubingate: interrupted; `cubingate run` goes on from here\n")
        return int(ExitStatus.INTERRUPTED)
    except BrokenPipeError:
        # The reader of stdout went away (`cubingate show … | head`): nothing is left to tell it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitStatus.INFRASTRUCTURE)


def _dispatch(argv: Sequence[str]) -> ExitStatus:
    name = next((word for word in argv if not word.startswith("-")), None)
    if name in NOT_YET:
        raise _NotInThisVersion(f"{name}: not in this version")
    parser, commands = _parser()
    if argv and name == argv[0]:
        _configure(commands, name)
    arguments = parser.parse_args(argv)
    module = importlib.import_module(f"pipeline.commands.{arguments.command}")
    status: ExitStatus = module.execute(arguments)
    return status


class _NotInThisVersion(CubingateError):
    status = ExitStatus.USAGE


def _parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(
        prog="cubingate",
        description="A release gate for CUDA LLM-serving bundles.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"cubingate {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands = {
        name: subparsers.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        for name, summary in COMMANDS
    }
    return parser, commands


def _configure(commands: dict[str, argparse.ArgumentParser], name: str) -> None:
    if name in commands:
        importlib.import_module(f"pipeline.commands.{name}").configure(commands[name])


def _complain(error: CubingateError) -> None:
    for line in str(error).splitlines():
        sys.stderr.write(f"cubingate: {line}\n")


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated("terminated; `cubingate run` goes on from here")
