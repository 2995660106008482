"""Library and entry point names that stand as plain strings in a file's data: what it may dlopen and dlsym.

Best effort: a name can be put together at run time, and a string need not be used. Never decisive alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.elf import ElfImage, Section

_LIBRARY = re.compile(rb"(?:[\w.+-]+/)*lib[\w+-][\w.+-]{0,80}\.so(?:\.[0-9][0-9.]{0,20})?")
_DRIVER = re.compile(rb"cu(?:[A-Z]|GL)[A-Za-z0-9]{2,60}(?:_v[0-9]+)?")
_LONGEST = 128
_STRING_SECTIONS = (".rodata", ".lrodata", ".rdata")


def library_names(image: ElfImage) -> tuple[str, ...]:
    """Names such as ``libcuda.so.1``, sorted."""
    return _matches(image, _LIBRARY, b".so")


def driver_names(image: ElfImage) -> tuple[str, ...]:
    """Names such as ``cuMemCreate``, sorted."""
    return _matches(image, _DRIVER, b"\0cu")


def _matches(image: ElfImage, pattern: re.Pattern[bytes], hint: bytes) -> tuple[str, ...]:
    found = {
        text
        for section in _string_sections(image)
        for _, piece in image.view.pieces(section.offset, section.size)
        for text in _strings_with(piece, hint)
        if pattern.fullmatch(text)
    }
    return tuple(sorted(name.decode("ascii") for name in found))


def _strings_with(piece: bytes, hint: bytes) -> Iterator[bytes]:
    """The NUL-terminated strings of ``piece`` around each ``hint``; searching for it is what makes this fast."""
    hit = piece.find(hint)
    while hit >= 0:
        start = piece.rfind(b"\0", max(hit - _LONGEST, 0), hit + 1) + 1
        end = piece.find(b"\0", hit + 1, hit + _LONGEST)
        if start and end >= 0:
            yield piece[start:end]
        hit = piece.find(hint, hit + 1)


def _string_sections(image: ElfImage) -> Iterator[Section]:
    for section in image.sections:
        if section.in_file and section.name.startswith(_STRING_SECTIONS):
            yield section
