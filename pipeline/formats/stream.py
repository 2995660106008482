"""Bytes that come once and in order: members of archives, output of decompressors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.binary import PIECE, BufferView, ShortRead

if TYPE_CHECKING:
    from collections.abc import Iterator
    from queue import SimpleQueue

    from pipeline.binary import View
    from pipeline.formats.needle import Needle

_AHEAD = 4
_FIRST_READ = 64 << 10


class Stream:
    """A stream over an iterator of chunks; ``size`` is its length where that is known beforehand."""

    def __init__(self, chunks: Iterator[bytes], size: int | None = None) -> None:
        self.size = size
        self.offset = 0
        self._chunks = chunks
        self._buffer = b""
        self._at = 0

    def chunk(self, limit: int = PIECE) -> bytes:
        """Return the next bytes, at most ``limit`` and at least one; empty only at the end."""
        if self._at == len(self._buffer):
            self._buffer, self._at = next((chunk for chunk in self._chunks if chunk), b""), 0
        if self._at == 0 and len(self._buffer) <= limit:
            taken, self._buffer = self._buffer, b""
        else:
            taken = self._buffer[self._at : self._at + limit]
            self._at += len(taken)
        self.offset += len(taken)
        return taken

    def skip_some(self, limit: int) -> int:
        """Pass over at most ``limit`` bytes without copying them; return how many, 0 only at the end."""
        step = min(limit, self._fill(1))
        self._at += step
        self.offset += step
        return step

    def peek(self, length: int) -> bytes:
        """Return the next ``length`` bytes without taking them; fewer only at the end."""
        self._fill(length)
        return self._buffer[self._at : self._at + length]

    def _fill(self, length: int) -> int:
        """Have ``length`` bytes in the buffer if the stream has as many; return how many there are."""
        have = len(self._buffer) - self._at
        if have < length:
            parts = [self._buffer[self._at :]] if have else []
            while have < length and (chunk := next(self._chunks, None)) is not None:
                parts.append(chunk)
                have += len(chunk)
            self._buffer, self._at = parts[0] if len(parts) == 1 else b"".join(parts), 0
        return have

    def distance(self, needle: Needle) -> tuple[int, bool]:
        """How many bytes can be passed before the pattern, and whether it follows them; ``(0, False)`` at the end."""
        have, pattern = self._fill(1), needle.pattern
        hit = needle.find(self._buffer, self._at)
        if hit >= 0:
            return hit - self._at, True
        begun = range(min(len(pattern) - 1, have), 0, -1)
        held = next((length for length in begun if self._buffer.endswith(pattern[:length])), 0)
        if have == 0 or held < have:
            return have - held, False
        return self.distance(needle) if self._fill(len(pattern)) >= len(pattern) else (have, False)

    def take(self, length: int) -> bytes:
        """Return exactly ``length`` bytes; ``ShortRead`` if the stream ends before."""
        first = self.chunk(length) if length else b""
        if len(first) == length:
            return first
        return first + b"".join(self._exactly(length - len(first)))

    def skip(self, length: int) -> None:
        """Pass over exactly ``length`` bytes without copying them; ``ShortRead`` if the stream ends before."""
        left = length
        while left:
            step = self.skip_some(left)
            if not step:
                raise ShortRead(f"the stream ends {left} bytes before the {length} that should follow")
            left -= step

    def part(self, length: int) -> Stream:
        """A stream of the next ``length`` bytes; it must be drained before this one is read on."""
        return Stream(self._exactly(length), length)

    def _exactly(self, length: int) -> Iterator[bytes]:
        left = length
        while left:
            chunk = self.chunk(min(left, PIECE))
            if not chunk:
                raise ShortRead(f"the stream ends {left} bytes before the {length} that should follow")
            left -= len(chunk)
            yield chunk

    def rest(self) -> Iterator[bytes]:
        """Yield everything that is left."""
        while chunk := self.chunk():
            yield chunk

    def drain(self) -> int:
        """Read to the end and return the stream's whole length, so that checks at the end are made."""
        while self.skip_some(PIECE):
            pass
        return self.offset

    def unread(self, data: bytes) -> None:
        """Put back bytes that were taken last."""
        if data:
            self._buffer, self._at = data + self._buffer[self._at :], 0
            self.offset -= len(data)


def read_ahead(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same chunks, each made in another thread while the one before it is being looked at."""
    from concurrent.futures import ThreadPoolExecutor
    from queue import SimpleQueue

    made, wanted = SimpleQueue[bytes](), SimpleQueue[bool]()
    for _ in range(_AHEAD):
        wanted.put(True)
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(_make, chunks, made, wanted)
        try:
            while chunk := made.get():
                yield chunk
                wanted.put(True)
        finally:
            wanted.put(False)
        making.result()


def _make(chunks: Iterator[bytes], made: SimpleQueue[bytes], wanted: SimpleQueue[bool]) -> None:
    """Put one chunk into ``made`` for each that is wanted, and an empty one behind the last."""
    try:
        while wanted.get() and (chunk := next(chunks, b"")):
            made.put(chunk)
    finally:
        made.put(b"")


class ViewStream(Stream):
    """A view read from its start to its end, of which only that is read that somebody looks at."""

    def __init__(self, view: View) -> None:
        super().__init__(self._forward(), view.size)
        self._view = view
        self._next = 0
        self._step = _FIRST_READ

    def _forward(self) -> Iterator[bytes]:
        while length := min(self._step, self._view.size - self._next):
            data = self._view.read(self._next, length)
            self._next += length
            self._step = min(2 * self._step, PIECE)
            yield data

    def skip_some(self, limit: int) -> int:
        """Go past what is not in the buffer without reading it."""
        if self._at < len(self._buffer):
            return super().skip_some(limit)
        step = min(limit, self._view.size - self._next)
        self._next += step
        self.offset += step
        self._step = _FIRST_READ
        return step

    def part(self, length: int) -> Stream:
        """A stream of the next ``length`` bytes, which this one has passed already; ``ShortRead`` if it ends before."""
        if length <= PIECE:
            return ViewStream(BufferView(self.take(length)))
        window = self._view.window(self.offset, length)
        self.skip(length)
        return ViewStream(window)

    def left(self) -> View:
        """What has not been taken yet, to be read at any offset."""
        return self._view.window(self.offset, self._view.size - self.offset)


def stream_of(view: View) -> Stream:
    """Read a view from its start to its end."""
    return ViewStream(view)
