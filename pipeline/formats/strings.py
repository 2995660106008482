"""Library and entry point names that stand as plain strings in a file's data: what it may dlopen and dlsym.

Best effort: a name can be put together at run time, and a string need not be used. Never decisive alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.elf import ElfImage, Section

_LIBRARY = re.compile(rb"\0((?:[\w.+-]+/)*lib[\w+-][\w.+-]{0,80}\.so(?:\.[0-9][0-9.]{0,20})?)(?=\0)")
_DRIVER = re.compile(rb"\0(cu(?:[A-Z]|GL)[A-Za-z0-9]{2,60}(?:_v[0-9]+)?)(?=\0)")
_STRING_SECTIONS = (".rodata", ".lrodata", ".rdata")


def library_names(image: ElfImage) -> tuple[str, ...]:
    """Names such as ``libcuda.so.1``, sorted."""
    return _matches(image, _LIBRARY, b".so")


def driver_names(image: ElfImage) -> tuple[str, ...]:
    """Names such as ``cuMemCreate``, sorted."""
    return _matches(image, _DRIVER, b"\0cu")


def _matches(image: ElfImage, pattern: re.Pattern[bytes], hint: bytes) -> tuple[str, ...]:
    found: set[bytes] = set()
    for section in _string_sections(image):
        for _, piece in image.view.pieces(section.offset, section.size):
            if hint in piece:
                found.update(pattern.findall(piece))
    return tuple(sorted(name.decode("ascii", "backslashreplace") for name in found))


def _string_sections(image: ElfImage) -> Iterator[Section]:
    for section in image.sections:
        if section.in_file and section.name.startswith(_STRING_SECTIONS):
            yield section
