"""The build context: what a Dockerfile may COPY, as one tar stream with nothing of this machine in it."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.model.source import NO_SOURCE

# Ninja takes a file of time 0 for a missing one, so a fixed time in the past, not none.
_TIME = 946_684_800

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class BuildContext:
    """``files`` are single files by their name in the context, ``trees`` are folders by theirs.

    Owners and times are dropped, so that equal sources make equal layers wherever they were unpacked.
    """

    dockerfile: str
    files: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, Path] = field(default_factory=dict)

    def write(self, stream: IO[bytes]) -> None:
        """Write the tar; ``InfrastructureError`` when a file of a tree cannot be read."""
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for name, content in {"Dockerfile": self.dockerfile.encode(), **self.files}.items():
                member = tarfile.TarInfo(name)
                member.size, member.mtime = len(content), _TIME
                tar.addfile(member, io.BytesIO(content))
            for name, tree in self.trees.items():
                _add_tree(tar, name, tree)


def _add_tree(tar: tarfile.TarFile, name: str, tree: Path) -> None:
    try:
        tar.add(tree, arcname=name, filter=_anonymous)
    except OSError as error:
        raise InfrastructureError(f"cannot read the source tree {tree}: {error}") from error


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Drop owner, time and umask; leave out what git and this tool keep for themselves."""
    if member.name.rpartition("/")[2] in NO_SOURCE:
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = _TIME
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member
