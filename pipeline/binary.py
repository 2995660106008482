"""Bounds-checked view of bytes: a short read raises, never yields zero."""

from __future__ import annotations

import os
import struct
from abc import ABC, abstractmethod
from bisect import bisect_right
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.errors import CorruptInput, InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_U16, _U32, _U64 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")
PIECE = 1 << 20
_AHEAD = 256 << 10
_STEP = 2 << 10


class FormatError(CorruptInput):
    """Bytes contradict the format they claim to be."""


class ShortRead(FormatError):
    """The bytes end before what their format promises."""


class NotKept(FormatError):
    """A table lies where a single pass over a stream did not keep it."""


class View(ABC):
    """A fixed run of bytes that can be read at any offset; all integers are little-endian."""

    def __init__(self, size: int) -> None:
        self.size = size

    @abstractmethod
    def _fetch(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes at ``offset``, both already checked; fewer if the bytes have gone meanwhile."""

    @abstractmethod
    def window(self, offset: int, length: int) -> View:
        """Return the part of this view that starts at ``offset``; ``ShortRead`` if it is not all here."""

    def stepping(self) -> View:
        """The same for somebody who reads many small things close to each other."""
        return self

    def read(self, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes at ``offset``; ``ShortRead`` if they are not all here."""
        if offset < 0 or length < 0 or offset + length > self.size:  # as in ``check``: this is called very often
            self.check(offset, length)
        data = self._fetch(offset, length)
        if len(data) != length:
            raise ShortRead(f"{length} bytes at offset {offset:#x}, only {len(data)} could be read")
        return data

    def check(self, offset: int, length: int) -> None:
        """``ShortRead`` unless ``length`` bytes at ``offset`` lie inside."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise ShortRead(f"{length} bytes at offset {offset:#x} reach past the end at {self.size:#x}")

    def head(self, length: int) -> bytes:
        """Return the first ``length`` bytes, or all when there are fewer."""
        return self.read(0, min(length, self.size))

    def u16(self, offset: int) -> int:
        """Read two bytes."""
        return int(_U16.unpack(self.read(offset, 2))[0])

    def u32(self, offset: int) -> int:
        """Read four bytes."""
        return int(_U32.unpack(self.read(offset, 4))[0])

    def u64(self, offset: int) -> int:
        """Read eight bytes."""
        return int(_U64.unpack(self.read(offset, 8))[0])

    def pieces(self, offset: int, length: int) -> Iterator[tuple[int, bytes]]:
        """Yield ``(offset, bytes)`` over a range, a megabyte at a time, skipping what a stream did not keep."""
        self.check(offset, length)
        for at in range(offset, offset + length, PIECE):
            yield at, self.read(at, min(PIECE, offset + length - at))


class BufferView(View):
    """Bytes in memory."""

    def __init__(self, data: bytes | memoryview) -> None:
        super().__init__(len(data))
        self._data = memoryview(data)

    def _fetch(self, offset: int, length: int) -> bytes:
        return bytes(self._data[offset : offset + length])

    def window(self, offset: int, length: int) -> View:
        """Share the same memory."""
        self.check(offset, length)
        return BufferView(self._data[offset : offset + length])


class FileView(View):
    """Part of an open file, read where asked and not mapped.

    A mapping would count every neighbouring page the kernel maps along as memory of this process, and would end
    the process with SIGBUS when another one truncates the file.
    """

    def __init__(self, descriptor: int, base: int, size: int) -> None:
        super().__init__(size)
        self._descriptor = descriptor
        self._base = base

    def _fetch(self, offset: int, length: int) -> bytes:
        try:
            data = os.pread(self._descriptor, length, self._base + offset)
            while len(data) < length and (
                more := os.pread(self._descriptor, length - len(data), self._base + offset + len(data))
            ):
                data += more
        except OSError as error:
            raise InfrastructureError(f"cannot read: {error.strerror}") from error
        return data

    def window(self, offset: int, length: int) -> View:
        """Share the same open file."""
        self.check(offset, length)
        return FileView(self._descriptor, self._base + offset, length)

    def stepping(self) -> View:
        """Two kilobytes are read where less is asked for."""
        return AheadView(self, _STEP)


class AheadView(View):
    """A view that somebody reads in many small steps forward: a piece of it is held in memory."""

    def __init__(self, view: View, ahead: int = _AHEAD) -> None:
        super().__init__(view.size)
        self._view = view
        self._ahead = ahead
        self._start = 0
        self._piece = b""

    def _fetch(self, offset: int, length: int) -> bytes:
        if length > self._ahead:
            return self._view.read(offset, length)
        at = offset - self._start
        if at < 0 or at + length > len(self._piece):
            self._start, at = offset, 0
            self._piece = self._view.read(offset, min(self._ahead, self.size - offset))
        return self._piece[at : at + length]

    def window(self, offset: int, length: int) -> View:
        """Share what is below."""
        return self._view.window(offset, length)


class SparseView(View):
    """What one pass over a stream kept of it: sorted, disjoint pieces with holes between them."""

    def __init__(self, size: int, starts: list[int], kept: Sequence[bytes | bytearray]) -> None:
        super().__init__(size)
        self._starts = starts
        self._kept = kept

    def _fetch(self, offset: int, length: int) -> bytes:
        found = b"".join(piece for _, piece in self._overlapping(offset, length))
        if len(found) != length:
            raise NotKept(f"{length} bytes at offset {offset:#x} were not kept in the single pass over the stream")
        return found

    def _overlapping(self, offset: int, length: int) -> Iterator[tuple[int, bytes]]:
        index = max(bisect_right(self._starts, offset) - 1, 0)
        end = offset + length
        while index < len(self._starts) and self._starts[index] < end:
            start, piece = self._starts[index], self._kept[index]
            low, high = max(offset - start, 0), min(end - start, len(piece))
            if low < high:
                yield start + low, bytes(memoryview(piece)[low:high])
            index += 1

    def window(self, offset: int, length: int) -> View:
        """Share the kept pieces."""
        self.check(offset, length)
        parts = list(self._overlapping(offset, length))
        return SparseView(length, [at - offset for at, _ in parts], [piece for _, piece in parts])

    def pieces(self, offset: int, length: int) -> Iterator[tuple[int, bytes]]:
        """Yield only what was kept."""
        self.check(offset, length)
        yield from self._overlapping(offset, length)


@contextmanager
def open_view(path: Path) -> Iterator[FileView]:
    """Open a regular file for reading; ``InfrastructureError`` when the system refuses."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise InfrastructureError(f"cannot open {path}: {error.strerror}") from error
    try:
        yield FileView(descriptor, 0, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)
