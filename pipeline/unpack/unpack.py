"""Unpack a bundle into an empty folder, so that nothing of it, whatever its names and links say, gets outside."""

from __future__ import annotations

import errno
import posixpath
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pipeline.errors import CorruptInput, InfrastructureError, UsageError
from pipeline.model.paths import printable
from pipeline.unpack.entries import Entry, Kind, damage_named, entries_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMBERS_LIMIT = 1_000_000
_UNPACKED_LIMIT = 64 << 30
_EXPANSION_LIMIT = 200  # unpacked bytes for each packed one; machine code reaches about 10
_EXPANSION_FREE = 256 << 20  # so much may come out of anything, however small
_DEPTH_LIMIT = 64  # folders in folders; removing them again must not exhaust stack or descriptors
_RESERVE = 64 << 20  # disk that is left to logs and the model
_ELF = b"\x7fELF"


def unpack(bundle: Path, into: Path) -> Path:
    """Unpack ``bundle`` into the empty folder ``into``; return the bundle's top folder.

    That is the archive's single folder where it has one, else ``into`` itself (wheels). A folder is taken as it is,
    a single program is copied. ``CorruptInput`` for damage, names or links that lead outside, devices and bombs;
    ``InfrastructureError`` when the disk is full; ``UsageError`` when there is no such bundle.
    """
    if bundle.is_dir():
        return bundle.resolve()
    if not bundle.is_file():
        raise UsageError(f"there is no bundle {bundle}")
    with _disk_errors(bundle, into), damage_named(bundle):
        with bundle.open("rb") as file:
            program = file.read(len(_ELF)) == _ELF
        if program:
            shutil.copyfile(bundle, into / bundle.name)
            (into / bundle.name).chmod(0o755)
            return into
        return _unpack_archive(bundle, into)


def _unpack_archive(bundle: Path, into: Path) -> Path:
    unpacking = _Unpacking(bundle, into)
    for entry in entries_of(bundle, _EXPANSION_FREE + _size_limit(bundle)):  # headers come on top of the members
        unpacking.add(entry)
    tops = list(into.iterdir())
    if not tops:
        raise CorruptInput(f"{bundle} is empty")
    return tops[0] if len(tops) == 1 and tops[0].is_dir() else into


def _size_limit(bundle: Path) -> int:
    """Bytes that may come out of ``bundle``."""
    return min(_UNPACKED_LIMIT, _EXPANSION_FREE + _EXPANSION_LIMIT * bundle.stat().st_size)


@dataclass(slots=True)
class _Unpacking:
    """What has come out so far. ``kinds`` also holds the folders that are only implied by their members."""

    bundle: Path
    into: Path
    kinds: dict[PurePosixPath, Kind] = field(default_factory=dict)
    size: int = 0

    def add(self, entry: Entry) -> None:
        name = self._place(entry)
        if name is None:
            return
        path = self.into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match entry.kind:
            case Kind.FILE:
                self._write(entry, path)
            case Kind.FOLDER:
                path.mkdir(exist_ok=True)
            case Kind.SYMBOLIC_LINK:
                self._check_target(entry, name)
                path.symlink_to(entry.target)
            case Kind.HARD_LINK:
                path.hardlink_to(self.into / self._linked(entry))
            case Kind.SPECIAL:
                raise self._refused(entry, "is a device, a pipe or a socket")

    def _place(self, entry: Entry) -> PurePosixPath | None:
        """Where the member goes, ``None`` for the archive's own root.

        Every folder on the way is a real one, made by this archive: nothing is ever written through a link.
        """
        name = PurePosixPath(entry.name)
        if name.is_absolute() or ".." in name.parts or "\0" in entry.name or "\\" in entry.name:
            raise self._refused(entry, "leads outside")
        if not name.parts:
            return None
        if len(name.parts) > _DEPTH_LIMIT:
            raise self._refused(entry, f"lies more than {_DEPTH_LIMIT} folders deep")
        for folder in list(name.parents)[:-1]:
            if self.kinds.setdefault(folder, Kind.FOLDER) is not Kind.FOLDER:
                raise self._refused(entry, f"lies below {printable(str(folder))}, which is no folder")
        if name in self.kinds and (self.kinds[name], entry.kind) != (Kind.FOLDER, Kind.FOLDER):
            raise self._refused(entry, "is there twice")
        self.kinds[name] = entry.kind
        self._count(entry)
        return name

    def _count(self, entry: Entry) -> None:
        self.size += entry.size
        if len(self.kinds) > _MEMBERS_LIMIT:
            raise self._refused(entry, f"is one of more than {_MEMBERS_LIMIT} members")
        if self.size > _size_limit(self.bundle):
            packed = self.bundle.stat().st_size
            raise self._refused(entry, f"brings the bundle to {self.size} bytes, out of {packed}: a bomb")

    def _write(self, entry: Entry, path: Path) -> None:
        if entry.size + _RESERVE > shutil.disk_usage(self.into).free:
            raise InfrastructureError(
                f"no room for {entry.size} bytes in {self.into}", remedy="free disk space, or set TMPDIR"
            )
        if entry.content is None:
            raise self._refused(entry, "has no content")
        with path.open("xb") as file:
            shutil.copyfileobj(entry.content, file, 1 << 20)
            written = file.tell()
        if written != entry.size:
            raise self._refused(entry, f"holds {written} bytes and promises {entry.size}")
        path.chmod(0o755 if entry.executable else 0o644)

    def _check_target(self, entry: Entry, name: PurePosixPath) -> None:
        """Climbing only at the start of a target, and never above the top: so no chain of links gets outside."""
        parts = PurePosixPath(entry.target).parts
        climb = next((count for count, part in enumerate(parts) if part != ".."), len(parts))
        if not entry.target or entry.target.startswith("/") or ".." in parts[climb:] or climb >= len(name.parts):
            raise self._refused(entry, f"links to {printable(entry.target)}, outside of the bundle")

    def _linked(self, entry: Entry) -> PurePosixPath:
        target = PurePosixPath(posixpath.normpath(entry.target))
        if self.kinds.get(target) is not Kind.FILE:
            raise self._refused(entry, f"is a hard link to {printable(entry.target)}, which is no file before it")
        return target

    def _refused(self, entry: Entry, why: str) -> CorruptInput:
        return CorruptInput(f"{self.bundle}!/{printable(entry.name)} {why}")


@contextmanager
def _disk_errors(bundle: Path, into: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {None, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ}:  # None: a decoder, not the disk
            raise CorruptInput(f"{bundle} cannot be unpacked: {error.strerror or error}") from error
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        remedy = "free disk space, or set TMPDIR" if full else None
        raise InfrastructureError(f"cannot unpack into {into}: {error.strerror}", remedy=remedy) from error
