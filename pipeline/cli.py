"""The command line: find the command, run it, turn every expected failure into one line and a status."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, NoReturn

from pipeline import __version__
from pipeline.commands import COMMANDS, NOT_YET
from pipeline.errors import CubingateError, ExitStatus, InfrastructureError, Terminated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

_STDOUT, _STDERR = 1, 2
_EPILOG = (
    "exit statuses: 0 pass, 1 refused, 2 usage, 3 nothing examined, 4 infrastructure, 5 corrupt input, "
    "130/143 interrupted"
)


def run(argv: Sequence[str]) -> int:
    """Run one command and return the process's exit status."""
    signal.signal(signal.SIGTERM, _terminate)
    _open_streams()
    try:
        return int(_finished(argv))
    except CubingateError as error:
        _complain(error)
        return int(error.status)
    except KeyboardInterrupt:
        sys.stderr.write("cubingate: interrupted; `cubingate run` goes on from here\n")
        return int(ExitStatus.INTERRUPTED)
    except BrokenPipeError:
        # The reader of stdout went away (`cubingate show … | head`): nothing is left to tell it.
        return int(ExitStatus.INFRASTRUCTURE)
    except OSError as error:
        _complain(InfrastructureError.of(error))
        return int(ExitStatus.INFRASTRUCTURE)


def _finished(argv: Sequence[str]) -> ExitStatus:
    """Dispatch, and see to it that all was written: a full disk must not be noticed after the status is chosen."""
    try:
        return _dispatch(argv)
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            _forget_stdout()
            raise


def _open_streams() -> None:
    """Streams that were closed swallow what is written; what one cannot encode is written as an escape."""
    # A file that is opened later must not get the number of a standard stream: children would write into it.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(descriptor)
    sys.stdout = sys.stdout or os.fdopen(_STDOUT, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(_STDERR, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """What is still in the buffer can never be written: the interpreter must not try again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDOUT)
    os.close(nowhere)


def _dispatch(argv: Sequence[str]) -> ExitStatus:
    name = next((word for word in argv if not word.startswith("-")), None)
    if name in NOT_YET:
        raise _NotInThisVersion(f"{name}: not in this version")
    parser, commands = _parser()
    if argv and name == argv[0]:
        _configure(commands, name)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        commands[arguments.command].error(f"unrecognized arguments: {' '.join(unknown)}")
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
    with suppress(OSError):  # a full disk under stderr: the status says it all the same
        for line in str(error).splitlines():
            sys.stderr.write(f"cubingate: {line}\n")


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated("terminated; `cubingate run` goes on from here")
