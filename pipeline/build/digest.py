"""The digest of a source tree, and the comparison of a digest with its pin."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pipeline.digest import file_sha256
from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.model.source import NO_SOURCE


def tree_sha256(root: Path) -> str:
    """The digest of a folder's sorted (path, mode, digest) lines but for ``NO_SOURCE``; a link counts by its target.

    ``InfrastructureError`` when anything in it cannot be read, or it is no folder.
    """
    lines: list[str] = []
    for folder, names, files in os.walk(root, onerror=_unreadable):
        names[:] = [name for name in names if name not in NO_SOURCE]
        linked = [name for name in names if Path(folder, name).is_symlink()]
        lines.extend(_line(root, Path(folder, name)) for name in (*files, *linked) if name not in NO_SOURCE)
    return hashlib.sha256("".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


def _line(root: Path, path: Path) -> str:
    name = path.relative_to(root).as_posix()
    if path.is_symlink():
        return f"{name}\0link\0{path.readlink()}\n"
    mode = "executable" if path.stat().st_mode & 0o100 else "plain"
    return f"{name}\0{mode}\0{file_sha256(path)}\n"


def _unreadable(error: OSError) -> None:
    raise InfrastructureError(f"cannot read {error.filename}: {error.strerror}") from error


def check_digest(what: str, *, expected: str, observed: str) -> None:
    """``CorruptInput`` naming both sides unless they are equal."""
    if expected != observed:
        raise CorruptInput(
            f"{what}: declared sha256 {expected}, observed {observed}",
            remedy="if the change is intended, pin the new digest in matrix.yaml",
        )
