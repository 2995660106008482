from __future__ import annotations

import bz2
import gzip
import os
from typing import TYPE_CHECKING

import pytest

from pipeline.binary import BufferView, FormatError
from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.formats.compression import Compression, decompressed, recognize
from pipeline.formats.decoders import ZlibDecoder
from pipeline.formats.stream import stream_of
from tests.formats.artifacts import gz, xz, zst

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT = os.urandom(5000) + bytes(3 << 20) + os.urandom(5000)
PACKERS: list[tuple[Compression, Callable[[bytes], bytes]]] = [
    (Compression.GZIP, gz),
    (Compression.XZ, xz),
    (Compression.ZSTD, zst),
    (Compression.BZIP2, bz2.compress),
]


def unpacked(content: bytes, which: Compression, budgets: Budgets = STANDARD) -> bytes:
    return b"".join(decompressed(stream_of(BufferView(content)), which, budgets).rest())


@pytest.mark.parametrize(("which", "pack"), PACKERS)
def test_content_comes_back(which: Compression, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(CONTENT)
    assert recognize(packed) is which
    assert unpacked(packed, which) == CONTENT
    assert unpacked(packed + packed, which) == CONTENT + CONTENT
    assert unpacked(packed + bytes(512), which) == CONTENT


@pytest.mark.parametrize(("which", "pack"), PACKERS)
def test_truncation_anywhere_is_seen(which: Compression, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(CONTENT)
    for length in (0, 3, 9, 20, len(packed) // 2, len(packed) - 5, len(packed) - 1):
        with pytest.raises(FormatError):
            unpacked(packed[:length], which)


@pytest.mark.parametrize(("which", "pack"), PACKERS)
def test_damage_and_foreign_bytes_are_seen(which: Compression, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(CONTENT)
    with pytest.raises(FormatError, match="follow"):
        unpacked(packed + b"and so on", which)
    if which is not Compression.ZSTD:  # its checksum is optional
        damaged = bytearray(packed)
        damaged[2000] ^= 0xFF
        with pytest.raises(FormatError):
            unpacked(bytes(damaged), which)


@pytest.mark.parametrize(("which", "pack"), PACKERS)
def test_a_bomb_is_stopped(which: Compression, pack: Callable[[bytes], bytes]) -> None:
    with pytest.raises(FormatError, match="bomb"):
        unpacked(pack(bytes(8 << 20)), which, Budgets(expansion=20, expansion_free=1 << 20))


def test_zlib_does_the_same_where_isal_is_absent() -> None:
    packed, decoder, out = gzip.compress(CONTENT), ZlibDecoder(31), b""
    out += decoder.decompress(packed, 1000)
    assert (len(out), decoder.needs_input, decoder.eof) == (1000, False, False)
    while not decoder.eof:
        out += decoder.decompress(b"", 1 << 20)
    assert (out, decoder.unused_data) == (CONTENT, b"")


def test_skippable_zstd_frames_are_zstd() -> None:
    assert recognize(b"\x50\x2a\x4d\x18\x00\x00\x00\x00") is Compression.ZSTD


def test_zeros_may_stand_between_xz_streams() -> None:
    """Stream padding, as the .xz file format has it."""
    content = xz(CONTENT[:5000]) + bytes(8) + xz(CONTENT[5000:]) + bytes(4)
    assert unpacked(content, Compression.XZ) == CONTENT
    with pytest.raises(FormatError, match="follow"):
        unpacked(xz(CONTENT) + bytes(8) + b"and so on", Compression.XZ)
