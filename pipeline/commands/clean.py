"""``cubingate clean``: remove the containers, images, networks and state that this tool made."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pipeline.commands import options
from pipeline.errors import ExitStatus, InfrastructureError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

_OURS = ("lanes", "evidence", "cache", "smoke")
_SCRATCH = (".build-*", ".copy-*", ".pack-*", ".smoke-*")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    options.add_state(parser)
    parser.add_argument(
        "--only", choices=("engine", "state"), help="only what is in the engine, or only what is on disk"
    )
    parser.add_argument(
        "--compiler-cache", action="store_true", help="also the compiler cache, which makes the next builds slow"
    )


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Remove, naming each thing; with an unreachable engine the state goes first, then the answer is status 4.

    Servers of a run that is going on are removed as well.
    """
    if arguments.only != "engine":
        for name in _clean_state(arguments.state):
            options.emit(arguments, name)
    if arguments.only != "state":
        for name in _clean_engine(compiler_cache=arguments.compiler_cache):
            options.emit(arguments, name)
    return ExitStatus.PASS


def _clean_engine(*, compiler_cache: bool) -> Iterator[str]:
    from pipeline.engine.docker import DockerEngine

    with DockerEngine.connect() as engine:
        yield from engine.remove_everything()
        if compiler_cache:
            yield from engine.remove_compiler_cache()


def _clean_state(state: Path) -> Iterator[str]:
    """Only what this tool puts there: a mistyped ``--state`` must not cost anybody a folder."""
    if not state.exists():
        return
    if state.is_symlink() or not state.is_dir():
        raise UsageError(f"{state} is not a state directory")
    try:
        for path in (*(state / name for name in _OURS), *(found for glob in _SCRATCH for found in state.glob(glob))):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
                yield f"folder {path}"
        if not any(state.iterdir()):
            state.rmdir()
    except OSError as error:
        raise InfrastructureError(f"cannot remove {error.filename}: {error.strerror}") from error
