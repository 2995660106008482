"""What the linker noted in ``.note.gnu.property``: the x86-64 level that a file says it needs.

A compiler writes the note only when it is asked to (``-mneeded``, ``-z x86-64-v3``). A file without it may use any
instruction all the same: instructions are not decoded here.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from pipeline.binary import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.elf import ElfImage

_PT_GNU_PROPERTY = 0x6474E553
_NOTE, _PROPERTY = struct.Struct("<III"), struct.Struct("<II")
_GNU, _PROPERTY_NOTE, _ISA_1_NEEDED = b"GNU\0", 5, 0xC0008002
_LARGEST = 4096


def isa_level(image: ElfImage) -> int:
    """1 for the x86-64 baseline, 2 to 4 for x86-64-v2 to v4, 0 where no level is stated.

    A damaged note counts as none, as it does for the dynamic linker.
    """
    for segment in image.segments:
        if segment.kind == _PT_GNU_PROPERTY:
            try:
                note = image.view.read(segment.offset, min(segment.size, _LARGEST))
            except FormatError:
                return 0
            return max((bits.bit_length() for bits in _needed(note)), default=0)
    return 0


def _needed(note: bytes) -> Iterator[int]:
    at = 0
    while at + _NOTE.size + len(_GNU) <= len(note):
        name_size, size, kind = _NOTE.unpack_from(note, at)
        start = at + _NOTE.size + name_size
        if note[at + _NOTE.size : start] == _GNU and kind == _PROPERTY_NOTE:
            yield from _isa_bits(note[start : start + size])
        at = start + size + -size % 8


def _isa_bits(description: bytes) -> Iterator[int]:
    at = 0
    while at + _PROPERTY.size <= len(description):
        kind, size = _PROPERTY.unpack_from(description, at)
        value = description[at + _PROPERTY.size : at + _PROPERTY.size + size]
        if kind == _ISA_1_NEEDED and len(value) == 4:
            yield int.from_bytes(value, "little") & 0xF
        at += _PROPERTY.size + size + -size % 8
