"""Compressed streams: gzip, xz, Zstandard and bzip2, unpacked piece by piece within bounds."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.binary import PIECE, FormatError, ShortRead
from pipeline.formats.stream import Stream, read_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.formats.budgets import Budgets
    from pipeline.formats.decoders import Decoder

_INPUT = 256 << 10
_SMALL = 4 << 20


class Compression(StrEnum):
    """Formats that pack one stream of bytes."""

    GZIP = "gz"
    XZ = "xz"
    ZSTD = "zst"
    BZIP2 = "bz2"


_MAGIC = {
    Compression.GZIP: b"\x1f\x8b\x08",
    Compression.XZ: b"\xfd7zXZ\0",
    Compression.ZSTD: b"\x28\xb5\x2f\xfd",
    Compression.BZIP2: b"BZh",
}
_ANY_MAGIC = tuple(_MAGIC.values())
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"


def recognize(head: bytes) -> Compression | None:
    """Which compression these first bytes announce."""
    if head[1:4] == _ZSTD_SKIPPABLE and head[0] & 0xF0 == 0x50:
        return Compression.ZSTD
    if not head.startswith(_ANY_MAGIC):
        return None
    return next(which for which, magic in _MAGIC.items() if head.startswith(magic))


def is_compressed(head: bytes) -> bool:
    """Whether ``decompressed`` can unpack what begins like this."""
    return recognize(head) is not None


def decompressed(source: Stream, compression: Compression, budgets: Budgets) -> Stream:
    """The unpacked bytes; reading them raises ``FormatError`` on damage, truncation or a bomb."""
    from pipeline.formats import decoders  # loads four libraries that most runs do not need

    make = {
        Compression.GZIP: decoders.gzip_decoder,
        Compression.XZ: decoders.xz_decoder,
        Compression.ZSTD: decoders.zstd_decoder,
        Compression.BZIP2: decoders.bzip2_decoder,
    }[compression]
    chunks = guarded(_members(source, compression, make), source, budgets)
    return Stream(read_ahead(chunks) if worth_a_thread(source) else chunks)


def worth_a_thread(source: Stream) -> bool:
    """Whether there is enough to unpack that a second thread pays."""
    return source.size is None or source.size > _SMALL


def _members(source: Stream, compression: Compression, make: Callable[[], Decoder]) -> Iterator[bytes]:
    """These formats may be concatenated; zeros may follow as padding, anything else is damage."""
    while True:
        yield from decoded(source, make())
        if compression is Compression.XZ:
            _skip_padding(source)
        ahead = source.peek(4)
        if not ahead:
            return
        if recognize(ahead + source.peek(6)[4:]) is not compression:
            if any(chunk.strip(b"\0") for chunk in source.rest()):
                raise FormatError(f"bytes that do not belong there follow the {compression.value} data")
            return


def _skip_padding(source: Stream) -> None:
    """Four zeros at a time may stand between xz streams and after the last."""
    while source.peek(4) == bytes(4):
        source.skip(4)


def decoded(source: Stream, decoder: Decoder) -> Iterator[bytes]:
    """Unpack one stream of compressed bytes and leave ``source`` right behind it."""
    from pipeline.formats.decoders import decoding_errors

    errors = decoding_errors()
    while not decoder.eof:
        data = source.chunk(_INPUT) if decoder.needs_input else b""
        ended = decoder.needs_input and not data
        try:
            out = decoder.decompress(data, PIECE)
        except errors as error:
            raise FormatError(f"the compressed data is damaged: {error}") from error
        if out:
            yield out
        elif ended and not decoder.eof:
            raise ShortRead("the compressed data ends too early")
    source.unread(decoder.unused_data)


def guarded(chunks: Iterator[bytes], source: Stream, budgets: Budgets) -> Iterator[bytes]:
    """Stop a bomb: more output than any honest file of that compressed size has."""
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > budgets.decompressed or (
            total > budgets.expansion_free and total > budgets.expansion * max(source.offset, 1)
        ):
            raise FormatError(f"a decompression bomb: {source.offset} bytes unpack to more than {total}")
        yield chunk
