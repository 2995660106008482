"""Decompressors of other libraries behind the interface that bz2 has: bounded output, a known end.

DEFLATE is isal's, about twice as fast as zlib; where isal has no build, zlib does the work. Zstandard is the
standard library's from Python 3.14 on and its backport before: both tell a truncated frame from a whole one.
"""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable

_HAS_ISAL = find_spec("isal") is not None
if _HAS_ISAL:
    from isal import igzip_lib, isal_zlib
XZ_MEMORY = 256 << 20
ZSTD_WINDOW_LOG = 27
_GZIP_BITS, _RAW_BITS = 31, -15


class Decoder(Protocol):
    """One decompressor for one stream of compressed bytes."""

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed data was met."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether nothing more comes out without more input."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What came after the end."""
        ...

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Unpack more; at most ``max_length`` bytes come out."""
        ...


class ZlibDecoder:
    """zlib's decompressor, which hands back the input it had no room for, as one that keeps it."""

    def __init__(self, window_bits: int) -> None:
        self._inner = zlib.decompressobj(wbits=window_bits)

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed data was met."""
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        """Whether nothing more comes out without more input."""
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        """What came after the end."""
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Unpack more; at most ``max_length`` bytes come out."""
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def gzip_decoder() -> Decoder:
    """For one gzip member, checksum included."""
    if not _HAS_ISAL:
        return ZlibDecoder(_GZIP_BITS)
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)


def deflate_decoder() -> Decoder:
    """For raw DEFLATE, as zip members have it."""
    if not _HAS_ISAL:
        return ZlibDecoder(_RAW_BITS)
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE)


def crc32() -> Callable[[bytes, int], int]:
    """The fastest CRC-32 there is: a function of the bytes and the value so far."""
    if not _HAS_ISAL:
        return zlib.crc32
    return isal_zlib.crc32


def xz_decoder() -> Decoder:
    """For one .xz stream (or the older .lzma); its dictionary is bounded."""
    return lzma.LZMADecompressor(memlimit=XZ_MEMORY)


def bzip2_decoder() -> Decoder:
    """For one bzip2 stream."""
    return bz2.BZ2Decompressor()


def zstd_decoder() -> Decoder:
    """For one Zstandard frame; its window is bounded."""
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG})


FOR_ZIP: dict[int, Callable[[], Decoder]] = {8: deflate_decoder, 12: bzip2_decoder, 93: zstd_decoder, 95: xz_decoder}
"""By the number that zip archives give the method."""


def decoding_errors() -> tuple[type[Exception], ...]:
    """What the decoders raise when their input is damaged."""
    common = (zlib.error, lzma.LZMAError, zstd.ZstdError, OSError, EOFError, ValueError, MemoryError)
    if not _HAS_ISAL:
        return common
    return (*common, cast("type[Exception]", igzip_lib.IsalError))
