"""Options that several commands share, so that they are spelled and explained once."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

AUDIT_FORMATS = ("text", "json", "sarif", "junit", "markdown", "html", "annotations")
GATE_FORMATS = ("text", "json", "junit", "markdown", "html", "annotations")
"""What --format takes; the last one is for a step's log, where GitHub reads it."""


def add_matrix(parser: argparse.ArgumentParser, *, default: str | None = "matrix.yaml") -> None:
    """``--matrix FILE``."""
    parser.add_argument(
        "--matrix",
        metavar="FILE",
        type=Path,
        default=Path(default) if default else None,
        help="the matrix file" + (f" (default {default})" if default else ""),
    )


def add_lanes(parser: argparse.ArgumentParser) -> None:
    """``--lane ID``, repeatable."""
    parser.add_argument(
        "--lane", metavar="ID", action="append", default=[], help="only this lane (repeatable; default: all)"
    )


def add_state(parser: argparse.ArgumentParser) -> None:
    """``--state DIR``."""
    parser.add_argument(
        "--state",
        metavar="DIR",
        type=_folder,
        default=Path(".cubingate"),
        help="where bundles, logs and evidence are kept (default .cubingate)",
    )


def add_sign(parser: argparse.ArgumentParser) -> None:
    """``--sign KEY``."""
    parser.add_argument(
        "--sign", metavar="KEY", type=Path, help="sign the evidence that is written with this private key (PEM)"
    )


def _folder(text: str) -> Path:
    if not text.strip():  # an unset variable would otherwise make the current folder ours, and `clean` empty it
        raise argparse.ArgumentTypeError("a folder needs a name")
    return Path(text)


def add_format(parser: argparse.ArgumentParser, choices: Sequence[str] = ("text", "json")) -> None:
    """``--format``; the first choice is the default."""
    parser.add_argument("--format", choices=choices, default=choices[0], help=f"default {choices[0]}")


def add_output(parser: argparse.ArgumentParser) -> None:
    """``--output FILE``."""
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the result here instead of stdout")


def add_also(parser: argparse.ArgumentParser, choices: Sequence[str]) -> None:
    """``--also FORMAT=FILE``, repeatable."""

    def format_and_file(text: str) -> tuple[str, Path]:
        name, equals, file = text.partition("=")
        if name not in choices or not equals or not file.strip():
            raise argparse.ArgumentTypeError(f"{text!r} is not FORMAT=FILE with one of {', '.join(choices)}")
        return name, Path(file)

    parser.add_argument(
        "--also",
        metavar="FORMAT=FILE",
        type=format_and_file,
        action="append",
        default=[],
        help="write the same result to FILE in another format (repeatable)",
    )


def emit_all(arguments: argparse.Namespace, written: Callable[[argparse.Namespace], str]) -> None:
    """``emit`` each ``--also FORMAT=FILE``, then what ``--format`` asks for.

    ``written`` makes one of them from arguments that ask for that one. ``UsageError`` where two would go to one file.
    """
    files = [file for _, file in arguments.also] + ([arguments.output] if arguments.output is not None else [])
    twice = next((file for place, file in enumerate(files) if file in files[:place]), None)
    if twice is not None:
        raise UsageError(f"{twice} would be written twice", remedy="give each format a file of its own")
    for name, file in arguments.also:
        alone = argparse.Namespace(**{**vars(arguments), "format": name, "output": file})
        emit(alone, written(alone))
    emit(arguments, written(arguments))


def emit(arguments: argparse.Namespace, text: str) -> None:
    """Print the command's data to stdout, or to ``--output FILE`` where the command has it.

    ``InfrastructureError`` when the file cannot be written.
    """
    output: Path | None = getattr(arguments, "output", None)
    text = text if text.endswith("\n") else text + "\n"
    if output is None:
        if getattr(arguments, "format", "text") != "text" and isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as pages and XML say of themselves, whatever the terminal speaks
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InfrastructureError(f"cannot write {output}: {error.strerror}") from error


def colored(arguments: argparse.Namespace) -> bool:
    """Whether ``emit`` prints to something that wants colour; a file of ``--output`` never does."""
    from pipeline.report.color import wants_color

    return getattr(arguments, "output", None) is None and wants_color(sys.stdout, environment())


def terminal_width(arguments: argparse.Namespace) -> int:
    """Columns of the terminal that ``emit`` prints to; 0 where it is none, so that logs and pipes keep whole lines."""
    if getattr(arguments, "output", None) is not None or not sys.stdout.isatty():
        return 0
    return shutil.get_terminal_size().columns


def environment() -> Mapping[str, str]:
    """This process's environment; commands pass it down, nothing below reads ``os.environ``."""
    return os.environ
