"""What device-code images are and how they are packed: the words that facts, tables and lanes share."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class EntryKind(IntEnum):
    """Fatbin entry kinds seen in the output of NVIDIA's tools, 11.2 to 13.5; others stay plain numbers."""

    PTX = 1
    CUBIN = 2
    LTO_IR = 8
    TILE_IR = 128
    CONCATENATED = 256


class Codec(StrEnum):
    """How an entry's payload is packed: flag 0x2000 is an LZ4 block, 0x8000 a Zstandard frame."""

    NONE = "none"
    LZ4 = "lz4"
    ZSTD = "zstd"
    UNKNOWN = "unknown"
