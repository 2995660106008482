"""A directory such as ``dist/``: exactly the approved bundles, what tells of them and ``SHA256SUMS``, or nothing new.

Everything is staged beside the destination, read back and compared, and only then changes places with it, in one step
where system and disk can; where they cannot, a kill between two renames leaves it missing until the next publication.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.digest import file_sha256
from pipeline.errors import InfrastructureError, UsageError
from pipeline.model.paths import printable
from pipeline.publishers.exchange import exchanged
from pipeline.publishers.staging import COMPAT, LISTS, SUMS, check_names, stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pipeline.gate import Approved


@dataclass(frozen=True, slots=True)
class Directory:
    """One directory as a destination."""

    path: Path

    @property
    def staging(self) -> Path:
        """Beside the destination: what is there stays until the new one is complete."""
        return self.path.parent

    def preflight(self) -> None:
        """See ``preflight``."""
        preflight(self.path)

    def publish(self, approved: Sequence[Approved]) -> str:
        """See ``publish``; returns the directory's path."""
        publish(self.path, approved)
        return str(self.path)

    def holds(self, item: Approved) -> bool:
        """Whether the bundle lies there, byte for byte; ``InfrastructureError`` when it cannot be read."""
        place = self.path / item.artifact.path.name
        return place.is_file() and file_sha256(place) == item.artifact.sha256


def preflight(directory: Path) -> None:
    """``UsageError`` when ``directory`` has no name, or holds anything that an earlier publication did not put there.

    ``InfrastructureError`` when that cannot be seen, or nothing can be written beside it.
    """
    _check_place(directory)
    with _disk_errors(directory):
        if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
            raise UsageError(f"{directory} is not a directory")
        present = sorted(path.name for path in directory.iterdir()) if directory.exists() else []
        own = _own(directory)
        beside = next(path for path in directory.absolute().parents if path.exists())
    if not os.access(beside, os.W_OK | os.X_OK, effective_ids=True):
        raise InfrastructureError(f"cannot publish to {directory}: {beside} cannot be written to")
    foreign = [printable(name) for name in present if name not in own]
    if foreign:
        raise UsageError(
            f"{directory} holds files that no gate approved: {', '.join(foreign[:3])}",
            remedy="move them away, or publish to another directory",
        )


def publish(directory: Path, approved: Sequence[Approved]) -> None:
    """Replace the content of ``directory`` by these bundles, byte for byte.

    ``UsageError`` for a directory that is not ours, two bundles of one name or a name that cannot be published,
    ``InfrastructureError`` when the disk refuses, a copy does not read back as approved or another publication to the
    same place is going on; the destination is then as it was.
    """
    check_names([item.artifact.path.name for item in approved])
    _check_place(directory)
    staging = directory.with_name(f".{directory.name}.staging")
    with _disk_errors(directory):
        directory.parent.mkdir(parents=True, exist_ok=True)
        with _alone_in(directory.parent):
            _take_back(directory)
            preflight(directory)
            try:
                shutil.rmtree(staging, ignore_errors=True)
                stage(staging, approved)
                _swap(staging, directory)
            finally:
                shutil.rmtree(staging, ignore_errors=True)


def _check_place(directory: Path) -> None:
    if directory.name in {"", ".."}:
        raise UsageError(f"{directory} has no name of its own to be replaced under", remedy="publish to one below it")


@contextmanager
def _disk_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InfrastructureError(f"cannot publish to {directory}: {error.strerror or error}") from error


@contextmanager
def _alone_in(parent: Path) -> Iterator[None]:
    """Two publications must not share a staging folder: what one copied would be listed by neither."""
    lock = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise InfrastructureError(
            f"another publication to {parent} is going on", remedy="wait for it, and publish again"
        ) from error
    finally:
        os.close(lock)


def _own(directory: Path) -> set[str]:
    """The names that the last publication put there; empty when there was none.

    Others write a SHA256SUMS too: only a ``compat.json`` of ours says that the files beside it are.
    """
    try:
        content = json.loads((directory / COMPAT).read_text(encoding="utf-8"))
        names = {asset["file"] for asset in content["assets"]} if content["kind"] == "compat" else set()
    except FileNotFoundError:
        sums = directory / SUMS
        # What is published where no lane is approved.
        return {SUMS} if sums.is_file() and sums.stat().st_size == 0 else set()
    except (ValueError, KeyError, TypeError, RecursionError, IsADirectoryError):
        return set()
    return {*names, *LISTS}


def _take_back(directory: Path) -> None:
    """Undo half of a swap that was killed."""
    previous = _previous(directory)
    if previous.is_dir() and not os.path.lexists(directory):
        previous.rename(directory)


def _previous(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.previous")


def _swap(staging: Path, directory: Path) -> None:
    """Afterwards what was there is what is staged, to be removed, or is removed already."""
    if directory.exists() and exchanged(staging, directory):
        return
    previous = _previous(directory)
    shutil.rmtree(previous, ignore_errors=True)
    if directory.exists():
        directory.rename(previous)
    try:
        staging.rename(directory)
    except OSError:
        if previous.exists():
            previous.rename(directory)
        raise
    shutil.rmtree(previous, ignore_errors=True)
