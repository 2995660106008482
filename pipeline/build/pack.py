"""A folder as a reproducible ``.tar.gz``: the same files give the same bytes, whoever packs them, whenever."""

from __future__ import annotations

import gzip
import os
import tarfile
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pipeline.errors import InfrastructureError, Refused
from pipeline.reproducible import add_member

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = 1
"""Raised when the same folder would give other bytes: part of every recipe digest."""

_LEVEL = 6


def pack(folder: Path, bundle: Path, *, top: str, source_date_epoch: int) -> None:
    """Write the content of ``folder``, below one folder ``top``, to ``bundle``, whole or not at all.

    Members are sorted, owned by 0:0, of mode 755 or 644 and of time ``source_date_epoch`` (Unix seconds); the gzip
    header has neither name nor time. ``Refused`` for an empty folder, a link that leads out of it, or what is neither
    file, folder nor link; ``InfrastructureError`` when the disk refuses.
    """
    members = sorted(_members(folder))
    if not any(path.is_file() for path in members):
        raise Refused(f"{bundle.name}: nothing to pack")
    try:
        with tempfile.NamedTemporaryFile(dir=bundle.parent, prefix=".pack-", delete=False) as stream:
            part = Path(stream.name)
            try:
                _write(stream, folder, members, top, source_date_epoch)
                stream.flush()
                os.fsync(stream.fileno())
                part.chmod(0o644)
                part.replace(bundle)
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise InfrastructureError(f"cannot write {bundle}: {error.strerror or error}") from error


def _members(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_symlink():
            if not path.resolve().is_relative_to(folder.resolve()) or path.readlink().is_absolute():
                raise Refused(f"{path.relative_to(folder)} links out of the bundle: {path.readlink()}")
        elif not (path.is_file() or path.is_dir()):
            raise Refused(f"{path.relative_to(folder)} is neither file, folder nor link")
        yield path


def _write(stream: IO[bytes], folder: Path, members: list[Path], top: str, time: int) -> None:
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=stream, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        add_member(tar, folder, top, time=time)
        for path in members:
            add_member(tar, path, f"{top}/{path.relative_to(folder).as_posix()}", time=time)
