"""The members of a bundle's archive, one after the other, as they are declared: judging them is the unpacker's."""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import sys
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import IO, TYPE_CHECKING, cast

from pipeline.errors import CorruptInput

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_DECODER_ERRORS = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    zstd.ZstdError,
)
_DRAIN = 1 << 20
_MAGIC_SIZE = 262 + 5
_LINK_TARGET_LIMIT = 4096  # PATH_MAX


class Kind(Enum):
    """What a member wants to be."""

    FILE = auto()
    FOLDER = auto()
    SYMBOLIC_LINK = auto()
    HARD_LINK = auto()
    SPECIAL = auto()


@dataclass(frozen=True, slots=True)
class Entry:
    """One member: ``target`` is set for links, ``content`` for files and only until the next member is asked for."""

    name: str
    kind: Kind
    size: int = 0
    executable: bool = False
    target: str = ""
    content: IO[bytes] | None = None


def entries_of(archive: Path) -> Iterator[Entry]:
    """Yield the members of a tar (plain, gzip, bzip2, xz, zstd) or zip.

    ``CorruptInput`` when it is neither; decoders throw their own errors, see ``damage_named``.
    """
    with archive.open("rb") as file:
        magic = file.read(_MAGIC_SIZE)
    if magic.startswith(b"PK"):
        yield from _zip_entries(archive)
    else:
        yield from _tar_entries(_opener(archive, magic)(archive))


@contextmanager
def damage_named(archive: Path) -> Iterator[None]:
    """``CorruptInput`` for what the decoders throw, while the members are listed and while their content is read."""
    try:
        yield
    except _DECODER_ERRORS as error:
        raise CorruptInput(f"{archive} is damaged: {error}") from error


def _opener(archive: Path, magic: bytes) -> Callable[[Path], IO[bytes]]:
    openers = (
        (b"\x1f\x8b", gzip.GzipFile),
        (b"BZh", bz2.BZ2File),
        (b"\xfd7zXZ\0", lzma.LZMAFile),
        (b"\x28\xb5\x2f\xfd", _open_zstd),
    )
    for start, opener in openers:
        if magic.startswith(start):
            return cast("Callable[[Path], IO[bytes]]", opener)
    if magic[257:262] == b"ustar":
        return lambda path: path.open("rb")
    raise CorruptInput(
        f"{archive} is neither a tar archive nor a zip nor an ELF program",
        remedy="smoke takes a .tar.gz, .tar.xz, .tar.zst, .tar, .zip, .whl, a folder or the server itself",
    )


def _open_zstd(archive: Path) -> IO[bytes]:
    window: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 31}  # what `zstd --long=31` needs
    return cast("IO[bytes]", zstd.open(archive, options=window))


def _tar_entries(stream: IO[bytes]) -> Iterator[Entry]:
    with stream:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                yield _tar_entry(tar, member)
        # tarfile stops at the end mark; only the rest brings the checksum of the whole stream.
        while stream.read(_DRAIN):
            pass


def _tar_entry(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    if member.isreg():
        content = tar.extractfile(member)
        return Entry(member.name, Kind.FILE, member.size, bool(member.mode & 0o111), content=content)
    if member.isdir():
        return Entry(member.name, Kind.FOLDER)
    if member.issym():
        return Entry(member.name, Kind.SYMBOLIC_LINK, target=member.linkname)
    if member.islnk():
        return Entry(member.name, Kind.HARD_LINK, target=member.linkname)
    return Entry(member.name, Kind.SPECIAL)


def _zip_entries(archive: Path) -> Iterator[Entry]:
    with zipfile.ZipFile(archive) as container:
        for member in container.infolist():
            mode = member.external_attr >> 16
            if member.is_dir():
                yield Entry(member.filename, Kind.FOLDER)
            elif stat.S_ISLNK(mode):
                yield _zip_link(container, member)
            elif stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
                yield Entry(member.filename, Kind.SPECIAL)
            else:
                with _readable(container, member) as content:
                    yield Entry(member.filename, Kind.FILE, member.file_size, bool(mode & 0o111), content=content)


def _zip_link(container: zipfile.ZipFile, member: zipfile.ZipInfo) -> Entry:
    with _readable(container, member) as content:
        target = content.read(_LINK_TARGET_LIMIT).decode(errors="surrogateescape")
    return Entry(member.filename, Kind.SYMBOLIC_LINK, target=target)


def _readable(container: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    try:
        return container.open(member)
    except (NotImplementedError, RuntimeError) as error:  # an unknown method; an encrypted member
        raise CorruptInput(f"{container.filename}!/{member.filename} cannot be read: {error}") from error
