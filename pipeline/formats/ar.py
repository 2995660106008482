"""Unix ``ar`` archives: static libraries (GNU and BSD names) and Debian packages, as a stream of members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.binary import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.budgets import Budgets
    from pipeline.formats.stream import Stream

MAGIC = b"!<arch>\n"
_THIN = b"!<thin>\n"
_HEADER = 60
_LARGEST_NAME_TABLE = 64 << 20
_INDEXES = (b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED")


@dataclass(frozen=True, slots=True)
class ArMember:
    """One member; ``content`` must be drained before the next one is asked for."""

    name: str
    content: Stream


def is_ar(head: bytes) -> bool:
    """Whether an archive starts here; a thin one too, which then turns out to lack its members."""
    return head.startswith((MAGIC, _THIN))


def is_deb(head: bytes) -> bool:
    """Whether the first member is the one that Debian packages begin with."""
    return head.startswith(MAGIC) and head[8:24].rstrip(b" /") == b"debian-binary"


def read_ar(source: Stream, budgets: Budgets) -> Iterator[ArMember]:
    """Yield the members in order, symbol indexes left out; ``FormatError`` when a header is damaged."""
    if source.take(len(MAGIC)) == _THIN:
        raise FormatError("a thin archive: its members are other files")
    long_names = b""
    while source.peek(1):
        header = source.take(_HEADER)
        if header[58:] != b"`\n":
            raise FormatError("a damaged ar header")
        raw, size = header[:16].rstrip(b" "), _decimal(header[48:58])
        content = source.part(size)
        if raw == b"//":
            long_names = _name_table(content, size)
        elif raw not in _INDEXES:
            name = _name(raw, content, long_names, budgets)
            if not name.encode("utf-8", "surrogateescape").startswith(_INDEXES[2]):
                yield ArMember(name, content)
        content.drain()
        if size % 2 and source.peek(1):
            source.skip(1)


def _name_table(content: Stream, size: int) -> bytes:
    if size > _LARGEST_NAME_TABLE:
        raise FormatError(f"a name table of {size} bytes")
    return content.take(size)


def _name(raw: bytes, content: Stream, long_names: bytes, budgets: Budgets) -> str:
    if raw.startswith(b"#1/"):
        length = _decimal(raw[3:])
        if length > budgets.name:
            raise FormatError(f"a member name of {length} bytes")
        raw = content.take(length).rstrip(b"\0")
    elif raw.startswith(b"/") and raw[1:].isdigit():
        start = _decimal(raw[1:])
        end = long_names.find(b"\n", start)
        if start >= len(long_names) or end < 0:
            raise FormatError("a member name outside the name table")
        raw = long_names[start:end].removesuffix(b"/")
    else:
        raw = raw.removesuffix(b"/")
    return raw.decode("utf-8", "surrogateescape")


def _decimal(field: bytes) -> int:
    digits = field.strip(b" ")
    if not digits.isdigit():
        raise FormatError("an ar header with a size that is no number")
    return int(digits)
