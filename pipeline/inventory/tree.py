"""A directory's files, links and special files, sorted; symbolic links are read and never followed."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    """By what a file is known to be the same as before, as far as its file system tells: nanoseconds, bytes."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A regular file; ``name`` is relative to the root, with slashes."""

    name: str
    mode: int
    stamp: Stamp

    @property
    def size(self) -> int:
        """Bytes."""
        return self.stamp.size


@dataclass(frozen=True, slots=True)
class TreeLink:
    """A symbolic link and its target as written."""

    name: str
    mode: int
    target: str


@dataclass(frozen=True, slots=True)
class TreeSpecial:
    """A device, pipe or socket; never opened."""

    name: str
    mode: int


TreeEntry = TreeFile | TreeLink | TreeSpecial


def list_tree(root: Path) -> Iterator[TreeEntry]:
    """Yield everything below ``root`` but directories; ``InfrastructureError`` when a folder cannot be read."""
    pending = [""]
    while pending:
        folder = pending.pop()
        for entry in _scan(root, folder):
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append(name)
            else:
                yield _entry(entry, name)


def _scan(root: Path, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root / folder) as entries:
            return sorted(entries, key=lambda entry: entry.name, reverse=False)
    except OSError as error:
        raise InfrastructureError(f"cannot read {root / folder}: {error.strerror}") from error


def _entry(entry: os.DirEntry[str], name: str) -> TreeEntry:
    try:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return TreeLink(name, status.st_mode, str(Path(entry.path).readlink()))
    except OSError as error:
        raise InfrastructureError(f"cannot read {entry.path}: {error.strerror}") from error
    if stat.S_ISREG(status.st_mode):
        stamp = Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        return TreeFile(name, status.st_mode, stamp)
    return TreeSpecial(name, status.st_mode)
