"""Tar archives (ustar, GNU, pax) as a stream of members; a damaged header is an error, never a silent end."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.binary import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.budgets import Budgets
    from pipeline.formats.stream import Stream

BLOCK = 512
_ZERO = b"\0" * BLOCK
_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL = b"L", b"K", b"x", b"g"
_CHECKSUM = slice(148, 156)


class TarKind(StrEnum):
    """What a member is."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    HARDLINK = "hard link"
    DEVICE = "device node"
    FIFO = "named pipe"
    SPARSE = "sparse file"
    UNKNOWN = "member of unknown type"


_KINDS = {
    b"0": TarKind.FILE,
    b"\0": TarKind.FILE,
    b"7": TarKind.FILE,
    b"1": TarKind.HARDLINK,
    b"2": TarKind.SYMLINK,
    b"3": TarKind.DEVICE,
    b"4": TarKind.DEVICE,
    b"5": TarKind.DIRECTORY,
    b"6": TarKind.FIFO,
    b"S": TarKind.SPARSE,
}


@dataclass(frozen=True, slots=True)
class TarMember:
    """One member; ``content`` must be drained before the next one is asked for."""

    name: str
    kind: TarKind
    link: str
    content: Stream


@dataclass(slots=True)
class _Extended:
    """What GNU and pax headers say about the member that follows them."""

    values: dict[str, str] = field(default_factory=dict)

    def taken(self) -> dict[str, str]:
        values, self.values = self.values, {}
        return values


def is_tar(head: bytes) -> bool:
    """Whether a tar header stands at the start: a checksum that fits, not a name or a magic."""
    return len(head) >= BLOCK and head[:BLOCK] != _ZERO and _checksum_fits(head[:BLOCK])


def read_tar(source: Stream, budgets: Budgets) -> Iterator[TarMember]:
    """Yield the members in order; ``FormatError`` when a header is damaged or the end is missing."""
    extended, shared = _Extended(), dict[str, str]()
    while (block := source.take(BLOCK)) != _ZERO:
        if not _checksum_fits(block):
            raise FormatError("a tar header's checksum does not fit")
        flag, size = block[156:157], _number(block[124:136])
        if flag in {_LONG_NAME, _LONG_LINK}:
            text = _text(_extra(source, size, budgets))
            extended.values["path" if flag == _LONG_NAME else "linkpath"] = text
        elif flag in {_PAX, _PAX_GLOBAL}:
            target = extended.values if flag == _PAX else shared
            target.update(_pax_records(_extra(source, size, budgets)))
        else:
            yield from _member(source, block, size, shared | extended.taken())
    _expect_end(source)


def _member(source: Stream, block: bytes, size: int, extended: dict[str, str]) -> Iterator[TarMember]:
    kind = _KINDS.get(block[156:157], TarKind.UNKNOWN)
    if any(key.startswith("GNU.sparse") for key in extended):
        kind = TarKind.SPARSE
    size = _pax_size(extended.get("size"), size)
    if kind in {TarKind.SYMLINK, TarKind.HARDLINK, TarKind.DIRECTORY, TarKind.DEVICE, TarKind.FIFO}:
        size = 0
    name = extended.get("path", _header_name(block))
    if kind is TarKind.FILE and name.endswith("/"):
        kind = TarKind.DIRECTORY  # how tar said it before there was a type for it
    content = source.part(size)
    yield TarMember(name, kind, extended.get("linkpath", _text(block[157:257])), content)
    content.drain()
    source.skip(-size % BLOCK)


def _pax_size(text: str | None, size: int) -> int:
    if text is None:
        return size
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        raise FormatError("a pax header with an impossible size")
    return int(text)


def _header_name(block: bytes) -> str:
    name = _text(block[:100])
    prefix = _text(block[345:500]) if block[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _extra(source: Stream, size: int, budgets: Budgets) -> bytes:
    if size > budgets.name:
        raise FormatError(f"an extended tar header of {size} bytes")
    data = source.take(size)
    source.skip(-size % BLOCK)
    return data


def _pax_records(data: bytes) -> Iterator[tuple[str, str]]:
    """Records are ``LENGTH KEY=VALUE\\n``, the length counting itself."""
    at = 0
    while at < len(data):
        space = data.find(b" ", at, at + 20)
        digits = data[at:space] if space > 0 else b""
        length = int(digits) if digits.isdigit() else 0
        record = data[space + 1 : at + length]
        key, separator, value = record.partition(b"=")
        if not separator or not value.endswith(b"\n") or at + length > len(data):
            raise FormatError("a damaged pax header")
        yield _text(key), value[:-1].decode("utf-8", "surrogateescape")
        at += length


def _expect_end(source: Stream) -> None:
    """After the first block of zeros comes a second one and padding; some writers leave both out."""
    for chunk in source.rest():
        if chunk.strip(b"\0"):
            raise FormatError("bytes follow the end of the tar archive")


def _text(field_bytes: bytes) -> str:
    return field_bytes.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _number(field_bytes: bytes) -> int:
    """Octal text, or base 256 where the first bit is set (GNU, for sizes of 8 GiB and more)."""
    if field_bytes[0] & 0x80:
        value = int.from_bytes(field_bytes[1:], "big")
        if field_bytes[0] != 0x80 or value >= 1 << 63:
            raise FormatError("a tar header with an impossible size")
        return value
    digits = field_bytes.strip(b" \0")
    if digits.strip(b"01234567"):
        raise FormatError("a tar header with a size that is no number")
    return int(digits, 8) if digits else 0


def _checksum_fits(block: bytes) -> bool:
    """The sum of all bytes, the checksum field counted as spaces; old writers summed signed bytes."""
    digits = block[_CHECKSUM].strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        return False
    wanted = int(digits, 8)
    plain = sum(block) - sum(block[_CHECKSUM]) + 8 * 0x20
    if wanted == plain:
        return True
    signed = plain - 256 * sum(1 for index, byte in enumerate(block) if byte > 127 and not 148 <= index < 156)
    return wanted == signed
