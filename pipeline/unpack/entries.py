"""The members of a bundle's archive, one after the other, as they are declared: judging them is the unpacker's."""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import IO, TYPE_CHECKING, Self, cast

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
    # What tarfile and zipfile let through: numbers and names in headers that are none, headers that never end.
    ValueError,
    OverflowError,
    struct.error,
    NotImplementedError,
    RecursionError,
)
_DRAIN = 1 << 20
_EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_EXTENSION_LIMIT = 1 << 20
_ZIP_MAGICS = (b"PK\3\4", b"PK\5\6")
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


def entries_of(archive: Path, limit: int) -> Iterator[Entry]:
    """Yield the members of a tar (plain, gzip, bzip2, xz, zstd) or zip.

    ``CorruptInput`` when it is neither, or when more than ``limit`` bytes come out of a compressed tar, headers and
    what follows its end included; decoders throw their own errors, see ``damage_named``.
    """
    with archive.open("rb") as file:
        magic = file.read(_MAGIC_SIZE)
    if magic.startswith(_ZIP_MAGICS):
        yield from _zip_entries(archive)
    else:
        yield from _tar_entries(_Metered(_opener(archive, magic)(archive), archive, limit))


class _Metered:
    """A stream that ends in ``CorruptInput`` where it gives more than was allowed: not every byte is a member's."""

    def __init__(self, stream: IO[bytes], archive: Path, limit: int) -> None:
        self._stream = stream
        self._archive = archive
        self._left = limit

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes."""
        piece = self._stream.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise CorruptInput(f"{self._archive} unpacks to more than its size allows: a bomb")
        return piece

    def close(self) -> None:
        """Close the stream below."""
        self._stream.close()


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


def _tar_entries(stream: _Metered) -> Iterator[Entry]:
    with closing(stream):
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", tarinfo=_Header) as tar:
            for member in tar:
                yield _tar_entry(tar, member)
        # tarfile stops at the end mark; only the rest brings the checksum of the whole stream.
        while stream.read(_DRAIN):
            pass


class _Header(tarfile.TarInfo):
    """A header; tarfile takes a damaged one for the end of the archive, and holds long names whole."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """``ReadError`` for anything but a sound header or the end of the archive."""
        if not buf.strip(b"\0"):
            return super().frombuf(buf, encoding, errors)  # raises what tarfile understands as the end
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from error
        if header.type in _EXTENSIONS and header.size > _EXTENSION_LIMIT:
            raise tarfile.ReadError(f"a header of {header.size} bytes")
        return header


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
