"""A browser's screenshot with a palette: a third of its size, with colours rounded where there are more than 256.

The format is that of https://www.w3.org/TR/png-3/ (filters in section 9).
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB, _INDEXED = 2, 3
Pixel = tuple[int, ...]


def with_palette(picture: bytes) -> bytes:
    """The same picture; ``ValueError`` for one that is not 8-bit RGB, as Chromium makes them."""
    pieces = list(_pieces(picture))
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", pieces[0][1])
    if (depth, kind, interlaced) != (8, _RGB, 0):
        raise ValueError(f"not 8-bit RGB: depth {depth}, kind {kind}")
    packed = b"".join(content for name, content in pieces if name == b"IDAT")
    rows = [
        [tuple(row[at : at + 3]) for at in range(0, len(row), 3)] for row in _rows(zlib.decompress(packed), width * 3)
    ]
    rounded = _rounding({pixel for row in rows for pixel in row})
    palette = sorted({*rounded.values()})
    index = {pixel: palette.index(color) for pixel, color in rounded.items()}
    lines = b"".join(b"\0" + bytes(index[pixel] for pixel in row) for row in rows)
    return (
        SIGNATURE
        + _piece(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _INDEXED, 0, 0, 0))
        + _piece(b"PLTE", b"".join(map(bytes, palette)))
        + _piece(b"IDAT", zlib.compress(lines, 9))
        + _piece(b"IEND", b"")
    )


def size(picture: bytes) -> tuple[int, int]:
    """Width and height."""
    width, height = struct.unpack(">II", next(_pieces(picture))[1][:8])
    return width, height


def _rounding(colors: set[Pixel]) -> dict[Pixel, Pixel]:
    """For each colour the one that stands for it: itself, or that of the finest grid that leaves 256 of them."""
    for step in (1, 2, 4, 8, 16, 32):
        rounded = {color: tuple(min(255, (part + step // 2) // step * step) for part in color) for color in colors}
        if len({*rounded.values()}) <= 256:
            return rounded
    raise ValueError("too many colours")


def _pieces(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(picture):
        length, name = struct.unpack_from(">I4s", picture, at)
        yield name, picture[at + 8 : at + 8 + length]
        at += 12 + length


def _piece(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _rows(content: bytes, width: int) -> Iterator[bytearray]:
    above = bytearray(width)
    for start in range(0, len(content), width + 1):
        kind, row = content[start], bytearray(content[start + 1 : start + 1 + width])
        for at, value in enumerate(row):
            left, corner = (row[at - 3], above[at - 3]) if at >= 3 else (0, 0)
            row[at] = (value + _foretold(kind, left, above[at], corner)) & 0xFF
        yield row
        above = row


def _foretold(kind: int, left: int, above: int, corner: int) -> int:
    """What a filter takes a byte to be, by those before it."""
    if kind < 4:
        return (0, left, above, (left + above) // 2)[kind]
    guess = left + above - corner
    return min((left, above, corner), key=lambda near: abs(guess - near))
