"""Zip archives that come as a stream: members by their local headers, checked against the directory at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.binary import BufferView, FormatError
from pipeline.formats import pkzip, pkzip_members
from pipeline.formats.compression import decoded, guarded
from pipeline.formats.pkzip import Method, ZipMember
from pipeline.formats.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.budgets import Budgets

_DESCRIPTOR, _SIGNATURE = 0x8, b"PK\x07\x08"
_LARGEST_DIRECTORY = 256 << 20


@dataclass(frozen=True, slots=True)
class StreamedMember:
    """One member; ``content`` must be drained before the next one is asked for."""

    name: str
    content: Stream


@dataclass(slots=True)
class ZipStream:
    """Reads one archive from ``source``: first all ``members``, then the ``directory``."""

    source: Stream
    budgets: Budgets
    _passed: dict[str, int] = field(default_factory=dict)

    def members(self) -> Iterator[StreamedMember]:
        """Yield the members in order; ``FormatError`` where one does not end as its header or descriptor says."""
        while self.source.peek(4) == pkzip.LOCAL_MAGIC:
            yield from self._member()

    def _member(self) -> Iterator[StreamedMember]:
        start = self.source.offset
        header = pkzip.LOCAL_HEADER.unpack(self.source.take(pkzip.LOCAL_HEADER.size))
        flags, method, crc, packed, size, name_size, extra_size = header[2], header[3], *header[6:11]
        raw = self.source.take(name_size)
        size, packed, _ = pkzip.widened(self.source.take(extra_size), size, packed, 0)
        member = ZipMember(pkzip.member_name(raw), flags, method, crc, packed, size, start, 0)
        pkzip_members.check_readable(member)
        if member.name in self._passed:
            raise FormatError("a second zip member of the same name")
        content = self._described(member) if flags & _DESCRIPTOR else self._plain(member)
        self._passed[member.name] = start
        yield StreamedMember(member.name, content)
        content.drain()
        if flags & _DESCRIPTOR:
            self._descriptor()

    def _plain(self, member: ZipMember) -> Stream:
        """A member whose sizes stand before it."""
        part = self.source.part(member.packed)
        chunks = part.rest() if member.method == Method.STORED else decoded(part, pkzip_members.decoder_of(member)())
        return Stream(
            self._closed(pkzip_members.checked(guarded(chunks, part, self.budgets), member), part), member.size
        )

    def _closed(self, chunks: Iterator[bytes], part: Stream) -> Iterator[bytes]:
        yield from chunks
        if part.peek(1):
            raise FormatError("a zip member is longer than its compressed data")

    def _described(self, member: ZipMember) -> Stream:
        """A member whose sizes stand behind it: only a format that knows its own end can be read so."""
        if member.method == Method.STORED:
            raise FormatError("a stored zip member of unknown size")
        return Stream(guarded(decoded(self.source, pkzip_members.decoder_of(member)()), self.source, self.budgets))

    def _descriptor(self) -> None:
        """Sizes are of 4 or of 8 bytes and the signature may be missing: what follows it decides."""
        signed = 4 if self.source.peek(4) == _SIGNATURE else 0
        for size in (12, 20):
            following = self.source.peek(signed + size + 4)[signed + size :]
            if following in {pkzip.LOCAL_MAGIC, pkzip.CENTRAL_MAGIC, pkzip.END64_MAGIC, pkzip.END_MAGIC}:
                self.source.skip(signed + size)
                return
        raise FormatError("a damaged zip data descriptor")

    def directory(self) -> tuple[ZipMember, ...]:
        """Read the rest of the archive; ``FormatError`` unless it lists exactly the members that have passed."""
        start = self.source.offset
        rest = b"".join(self._bounded())
        rows = pkzip.read_tail(BufferView(rest), start, self.budgets)
        if {row.name: row.header_at for row in rows} != self._passed:
            raise FormatError("the central directory does not list the members of the zip archive")
        return rows

    def _bounded(self) -> Iterator[bytes]:
        total = 0
        for chunk in self.source.rest():
            total += len(chunk)
            if total > _LARGEST_DIRECTORY:
                raise FormatError(f"a central directory of more than {_LARGEST_DIRECTORY} bytes")
            yield chunk
