"""One pass over a file too large to hold: find containers by their magic, keep headers, let payloads go by.

What is kept becomes a view that the ordinary readers use once the section table, which stands at the end, has
arrived. A reader that asks for bytes which were not kept gets ``NotKept``: damage, never a wrong answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.binary import PIECE, BufferView, FormatError, SparseView
from pipeline.formats import elf, fatbin
from pipeline.formats.inspection import NOTHING, Payload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.binary import View
    from pipeline.formats.facts import EntryFacts
    from pipeline.formats.fatbin import ContainerReader
    from pipeline.formats.stream import Stream

_HEAD = 64 << 10
_SECTION_NAMES = 4 << 20  # GNU ld puts the name table right before the section table
_OWN_NAME, _AROUND = b"\0.shstrtab\0", 64 << 10  # LLD puts it before .strtab, which can be larger than all that is kept
_WINDOW = 1 << 20
_SEGMENT_START = 32 << 20  # symbols and strings open the first segment, strings the second
_LONGER_START = 64 << 20  # where kernels' names are looked for too; the largest seen end at 36 MiB
_ENDLESS = 1 << 62
_GAP = 4 << 10  # between two containers


@dataclass(slots=True)
class _Keeper:
    """The pieces kept so far; neighbours are joined, so that bytes cost little more than they are."""

    limit: int
    starts: list[int] = field(default_factory=list)
    pieces: list[bytearray] = field(default_factory=list)
    end: int = -1
    total: int = 0

    def keep(self, offset: int, data: bytes) -> None:
        """Keep these bytes; ``FormatError`` past the limit."""
        if not data:
            return
        self.total += len(data)
        if self.total > self.limit:
            raise FormatError(f"more than {self.limit} bytes of headers in one file")
        if offset == self.end and len(self.pieces[-1]) < PIECE:
            self.pieces[-1] += data
        else:
            self.starts.append(offset)
            self.pieces.append(bytearray(data))
        self.end = offset + len(data)


@dataclass(frozen=True, slots=True)
class _Map:
    """Which parts of a file may hold containers, and which its other readers will ask for; both sorted, disjoint."""

    scanned: tuple[tuple[int, int], ...]
    wanted: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """The inspector for a second reading: payloads were looked into while they passed."""

    seen: dict[int, Payload]

    def appetite(self, entry: EntryFacts) -> int:  # noqa: ARG002
        """Nothing: there is no payload any more."""
        return 0

    def __call__(self, view: View, entry: EntryFacts) -> Payload:  # noqa: ARG002
        """Repeat what was found at that offset."""
        return self.seen.get(entry.offset, NOTHING)

    def of_file(self, size: int) -> Recalled:  # noqa: ARG002
        """Itself: it is for one file anyway."""
        return self

    def of_linker_input(self) -> Recalled:
        """Itself."""
        return self


def sift(stream: Stream, reader: ContainerReader) -> tuple[SparseView, Recalled]:
    """Read ``stream`` to its end and return what is needed of it; ``FormatError`` where it ends in a container."""
    start = _LONGER_START if reader.host_strings else _SEGMENT_START
    sieve = _Sieve(stream, reader, _map(stream.peek(_HEAD), start), _Keeper(reader.budgets.kept))
    for low, high in sieve.plan.scanned:
        sieve.go_on(low - stream.offset)
        sieve.scan(high)
    sieve.tail()
    return SparseView(stream.offset, sieve.keeper.starts, sieve.keeper.pieces), Recalled(sieve.seen)


@dataclass(slots=True)
class _Sieve:
    """One pass in progress."""

    stream: Stream
    reader: ContainerReader
    plan: _Map
    keeper: _Keeper
    seen: dict[int, Payload] = field(default_factory=dict)

    def scan(self, high: int) -> None:
        """Look for containers up to offset ``high``; what directly follows one is kept, for only zeros may be there."""
        stream, gap_end = self.stream, 0
        while stream.offset < high:
            length, found = stream.distance(fatbin.NEEDLE)
            if not length and not found:
                return
            if length >= high - stream.offset:
                length, found = high - stream.offset, False
            after = min(length, max(gap_end - stream.offset, 0))
            self.keeper.keep(stream.offset, stream.take(after))
            self.go_on(length - after)
            if found and self._plausible():
                self._container(high)
                gap_end = stream.offset + _GAP
            elif found:
                self.reader.names.count(1)
                self.go_on(1)

    def go_on(self, length: int) -> None:
        """Pass ``length`` bytes, or to the end; keep what is wanted of them while there is room."""
        stream, keeper = self.stream, self.keeper
        if length <= 0:
            return
        end = stream.offset + length
        for low, high in self.plan.wanted:
            if high > stream.offset and low < end:
                _skip(stream, low - stream.offset)
                while data := stream.chunk(min(high, end) - stream.offset):
                    if keeper.total + len(data) <= keeper.limit:
                        keeper.keep(stream.offset - len(data), data)
        _skip(stream, end - stream.offset)

    def tail(self) -> None:
        """Pass what follows the segments; the section names are found by their own name in them."""
        stream, keeper = self.stream, self.keeper
        while data := stream.peek(_WINDOW):
            at = data.find(_OWN_NAME)
            if at < 0:
                self.go_on(len(data) - _AROUND if len(data) == _WINDOW else len(data))
                continue
            self.go_on(at - _AROUND)
            names = stream.take(min(at, _AROUND) + min(_AROUND, len(data) - at))
            if keeper.total + len(names) <= keeper.limit:
                keeper.keep(stream.offset - len(names), names)

    def _plausible(self) -> bool:
        """Whether a container with at least one entry begins here, and not just four equal bytes."""
        head = BufferView(self.stream.peek(fatbin.CONTAINER_HEADER + fatbin.ENTRY_HEADER))
        return fatbin.plausible(head, 0, _ENDLESS)

    def _container(self, high: int) -> None:
        """Pass one container; where an entry contradicts itself, or the segment ends in it, ordinary bytes follow."""
        stream, keeper = self.stream, self.keeper
        start = stream.offset
        header = fatbin.parse_container(stream.peek(fatbin.CONTAINER_HEADER))
        end = start + header.size
        if end > high:
            keeper.keep(start, stream.take(min(header.header_size + fatbin.ENTRY_HEADER, high - start)))
            return
        keeper.keep(start, stream.take(header.header_size))
        while stream.offset < end:
            at = stream.offset
            try:
                size, payload = fatbin.entry_extent(stream.peek(fatbin.ENTRY_HEADER), end - at)
            except FormatError:
                keeper.keep(at, stream.take(min(fatbin.ENTRY_HEADER, end - at)))
                return
            head = stream.take(size)
            keeper.keep(at, head)
            self._payload(at, head, payload)

    def _payload(self, at: int, head: bytes, size: int) -> None:
        """Give the inspector as much of the payload as it wants, pass over the rest."""
        inspect = self.reader.inspect
        try:
            entry = fatbin.read_entry(BufferView(head), 0, len(head) + size, 0, self.reader.names)
        except FormatError:
            self.stream.skip(size)  # the header is read again later, and then the error is noted where it belongs
            return
        wanted = inspect.appetite(entry)
        payload = self.stream.take(wanted)
        if wanted or size > self.reader.budgets.payload:
            self.seen[at] = inspect(BufferView(head + payload), entry)
        self.stream.skip(size - wanted)


def _skip(stream: Stream, length: int) -> None:
    """Like ``Stream.skip``, but the stream may end."""
    left = length
    while left > 0 and (step := stream.skip_some(left)):
        left -= step


def _map(head: bytes, start: int) -> _Map:
    """Plan by the program headers; a file without any, or that is no ELF file, is scanned and kept whole."""
    try:
        header = elf.parse_header(head[: elf.HEADER_SIZE])
        segments = [segment for segment in elf.read_segments(BufferView(head), header) if segment.size]
    except FormatError:
        segments = []
    if not segments:
        return _Map(((0, _ENDLESS),), ((0, _ENDLESS),))
    table = header.sections_at
    tables = [
        (0, elf.HEADER_SIZE),
        (header.segments_at, header.segments_at + header.segments * elf.SEGMENT_SIZE),
        (max(table - _SECTION_NAMES, 0), table + max(header.sections, 1) * elf.SECTION_SIZE + _SECTION_NAMES),
    ]
    small = [s for s in segments if s.kind in {elf.PT_DYNAMIC, elf.PT_INTERP}]
    loaded = [s for s in segments if s.kind == elf.PT_LOAD]
    data = [s for s in loaded if not (s.flags & elf.PF_X and s.offset)]
    return _Map(
        _merged((s.offset, s.offset + s.size) for s in loaded),
        _merged(
            [*tables]
            + [(s.offset, s.offset + s.size) for s in small]
            + [(s.offset, s.offset + min(s.size, start)) for s in data]
        ),
    )


def _merged(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        elif low < high:
            merged.append((low, high))
    return tuple(merged)
