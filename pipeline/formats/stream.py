"""Bytes that come once and in order: members of archives, output of decompressors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.binary import PIECE, ShortRead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.binary import View


class Stream:
    """A stream over an iterator of chunks; ``size`` is its length where that is known beforehand."""

    def __init__(self, chunks: Iterator[bytes], size: int | None = None) -> None:
        self.size = size
        self.offset = 0
        self._chunks = chunks
        self._ahead = b""

    def chunk(self, limit: int = PIECE) -> bytes:
        """Return the next bytes, at most ``limit`` and at least one; empty only at the end."""
        if not self._ahead:
            self._ahead = next((chunk for chunk in self._chunks if chunk), b"")
        if len(self._ahead) <= limit:
            taken, self._ahead = self._ahead, b""
        else:
            taken, self._ahead = self._ahead[:limit], self._ahead[limit:]
        self.offset += len(taken)
        return taken

    def peek(self, length: int) -> bytes:
        """Return the next ``length`` bytes without taking them; fewer only at the end."""
        if len(self._ahead) < length:
            parts, total = [self._ahead], len(self._ahead)
            for chunk in self._chunks:
                parts.append(chunk)
                total += len(chunk)
                if total >= length:
                    break
            self._ahead = b"".join(parts)
        return self._ahead[:length]

    def take(self, length: int) -> bytes:
        """Return exactly ``length`` bytes; ``ShortRead`` if the stream ends before."""
        parts, left = [], length
        while left:
            chunk = self.chunk(left)
            if not chunk:
                raise ShortRead(f"the stream ends {left} bytes before the {length} that should follow")
            parts.append(chunk)
            left -= len(chunk)
        return b"".join(parts)

    def skip(self, length: int) -> None:
        """Pass over exactly ``length`` bytes; ``ShortRead`` if the stream ends before."""
        left = length
        while left:
            chunk = self.chunk(min(left, PIECE))
            if not chunk:
                raise ShortRead(f"the stream ends {left} bytes before the {length} that should follow")
            left -= len(chunk)

    def rest(self) -> Iterator[bytes]:
        """Yield everything that is left."""
        while chunk := self.chunk():
            yield chunk

    def unread(self, data: bytes) -> None:
        """Put back bytes that were taken last."""
        self._ahead = data + self._ahead
        self.offset -= len(data)

    def drain(self) -> int:
        """Read to the end and return how many bytes there were, so that checks at the end are made."""
        return sum(len(chunk) for chunk in self.rest())

    def part(self, length: int) -> Stream:
        """A stream of the next ``length`` bytes; it must be drained before this one is read on."""
        return Stream(self._part(length), length)

    def _part(self, length: int) -> Iterator[bytes]:
        left = length
        while left:
            chunk = self.chunk(min(left, PIECE))
            if not chunk:
                raise ShortRead(f"the stream ends {left} bytes before the {length} that should follow")
            left -= len(chunk)
            yield chunk


def stream_of(view: View) -> Stream:
    """Read a view from its start to its end."""
    return Stream((piece for _, piece in view.pieces(0, view.size)), view.size)
