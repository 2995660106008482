"""Zip archives on disk or in memory, read by their central directory, which must agree with the local headers."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from pipeline.binary import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.binary import View
    from pipeline.formats.budgets import Budgets

LOCAL_MAGIC, CENTRAL_MAGIC, END_MAGIC = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
END64_MAGIC, _LOCATOR_MAGIC = b"PK\x06\x06", b"PK\x06\x07"
LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL_HEADER = struct.Struct("<4sBBHHHHHIIIHHHHHII")
_END_RECORD = struct.Struct("<4sHHHHIIH")
_END64_RECORD = struct.Struct("<4sQHHIIQQQQ")
_LOCATOR_RECORD = struct.Struct("<4sIQI")
_LONGEST_END = _END_RECORD.size + 0xFFFF
_EXTRA_ZIP64 = 1
_UNIX = 3
_S_IFMT, _S_IFLNK, _S_IFREG, _S_IFDIR = 0o170000, 0o120000, 0o100000, 0o040000


class Method(IntEnum):
    """Compression methods this program can read."""

    STORED = 0
    DEFLATED = 8
    BZIP2 = 12
    ZSTD = 93
    XZ = 95


@dataclass(frozen=True, slots=True)
class ZipMember:
    """One row of the central directory."""

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    header_at: int
    unix_mode: int

    @property
    def is_directory(self) -> bool:
        """Whether the name says so, as zip has it."""
        return self.name.endswith("/")

    @property
    def is_symlink(self) -> bool:
        """Whether the member's content is the target of a symbolic link."""
        return self.unix_mode & _S_IFMT == _S_IFLNK

    @property
    def is_special(self) -> bool:
        """Whether it claims to be a device, pipe or socket."""
        return self.unix_mode & _S_IFMT not in {0, _S_IFREG, _S_IFDIR, _S_IFLNK}


def is_zip(head: bytes) -> bool:
    """Whether a zip archive starts here (an empty one has only its end)."""
    return head.startswith((LOCAL_MAGIC, END_MAGIC))


def read_directory(view: View, budgets: Budgets) -> tuple[ZipMember, ...]:
    """Read the central directory; ``FormatError`` where it is damaged, incomplete or describes overlapping members."""
    return read_tail(view, 0, budgets)


def read_tail(view: View, start: int, budgets: Budgets) -> tuple[ZipMember, ...]:
    """The same where ``view`` is only the end of an archive, from its byte ``start`` on."""
    end = _find_directory(view, start)
    if end.count > budgets.members:
        raise FormatError(f"{end.count} members, more than {budgets.members}")
    data = view.read(end.start - start, end.end - end.start)
    members = tuple(_rows(data, end.count))
    _check_layout(members, end.start)
    return members


@dataclass(frozen=True, slots=True)
class _Directory:
    """Where the central directory lies in the archive, and how many members it lists."""

    count: int
    start: int
    end: int


def _find_directory(view: View, start: int) -> _Directory:
    tail_at = max(view.size - _LONGEST_END, 0)
    tail = view.read(tail_at, view.size - tail_at)
    found = tail.rfind(END_MAGIC)
    if found < 0 or found + _END_RECORD.size > len(tail):
        raise FormatError("a zip archive without its central directory")
    _, disk, first_disk, _, count, size, at, comment = _END_RECORD.unpack_from(tail, found)
    end = tail_at + found
    if found + _END_RECORD.size + comment != len(tail):
        raise FormatError("bytes that do not belong there follow the zip archive")
    locator_at = end - _LOCATOR_RECORD.size
    if locator_at >= 0 and view.read(locator_at, 4) == _LOCATOR_MAGIC:
        return _find_directory64(view, start, end)
    if disk or first_disk or at + size != start + end:
        raise FormatError("the central directory is not where the end record puts it")
    return _Directory(count, at, start + end)


def _find_directory64(view: View, start: int, end: int) -> _Directory:
    locator_at = end - _LOCATOR_RECORD.size
    _, _, record_at, _ = _LOCATOR_RECORD.unpack(view.read(locator_at, _LOCATOR_RECORD.size))
    record = _END64_RECORD.unpack(view.read(record_at - start, _END64_RECORD.size))
    magic, disk, count, size, at = record[0], record[4], record[7], record[8], record[9]
    if magic != END64_MAGIC or disk or at + size != record_at or record_at + _END64_RECORD.size > start + locator_at:
        raise FormatError("the zip64 end record is damaged")
    return _Directory(count, at, record_at)


def _rows(data: bytes, count: int) -> Iterator[ZipMember]:
    at = 0
    for _ in range(count):
        if at + _CENTRAL_HEADER.size > len(data):
            raise FormatError("the central directory is cut short")
        row = _CENTRAL_HEADER.unpack_from(data, at)
        if row[0] != CENTRAL_MAGIC:
            raise FormatError("a damaged row of the central directory")
        name_at = at + _CENTRAL_HEADER.size
        extra_at = name_at + row[11]
        at = extra_at + row[12] + row[13]
        if at > len(data):
            raise FormatError("the central directory is cut short")
        yield _member(row, data[name_at:extra_at], data[extra_at : extra_at + row[12]])
    if at != len(data):
        raise FormatError("the central directory holds more than its members")


def _member(row: tuple[int, ...], name: bytes, extra: bytes) -> ZipMember:
    system, flags, method, crc, packed, size = row[2], row[4], row[5], row[8], row[9], row[10]
    size, packed, header_at = widened(extra, size, packed, row[17])
    mode = row[16] >> 16 if system == _UNIX else 0
    return ZipMember(member_name(name), flags, method, crc, packed, size, header_at, mode)


def member_name(name: bytes) -> str:
    """Decode a name; what is not UTF-8 is kept byte by byte."""
    return name.decode("utf-8", "surrogateescape")


def widened(extra: bytes, size: int, packed: int, header_at: int) -> tuple[int, int, int]:
    """Replace the 32-bit fields that are all ones by the 64-bit ones of the zip64 extra field, in their order."""
    wide = _extra_field(extra, _EXTRA_ZIP64)
    values = [size, packed, header_at]
    at = 0
    for index, value in enumerate(values):
        if value == 0xFFFFFFFF:
            if at + 8 > len(wide):
                raise FormatError("a zip64 size is missing")
            values[index] = int.from_bytes(wide[at : at + 8], "little")
            at += 8
    return values[0], values[1], values[2]


def _extra_field(extra: bytes, wanted: int) -> bytes:
    at = 0
    while at + 4 <= len(extra):
        name, size = struct.unpack_from("<HH", extra, at)
        if name == wanted:
            return extra[at + 4 : at + 4 + size]
        at += 4 + size
    return b""


def _check_layout(members: tuple[ZipMember, ...], directory_at: int) -> None:
    """Members must not overlap each other or the directory: a bomb's trick, and no writer does it."""
    past = 0
    for member in sorted(members, key=lambda row: row.header_at):
        if member.header_at < past:
            raise FormatError(f"zip members overlap at offset {member.header_at:#x}")
        past = (
            member.header_at + LOCAL_HEADER.size + len(member.name.encode("utf-8", "surrogateescape")) + member.packed
        )
    if past > directory_at:
        raise FormatError("a zip member reaches into the central directory")
