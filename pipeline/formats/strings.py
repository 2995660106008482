"""Library and entry point names that stand as plain strings in a file's data: what it may dlopen and dlsym.

Best effort: a name can be put together at run time, and a string need not be used. Never decisive alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.formats.needle import Needle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.elf import ElfImage, Section

_LIBRARY = re.compile(rb"(?:[\w.+-]+/)*lib[\w+-][\w.+-]{0,80}\.so(?:\.[0-9][0-9.]{0,20})?")
# Sought as it stands, for its "c" is rarer than the NUL before it.
_DRIVER = re.compile(rb"cu(?:[A-Z]|GL)[A-Za-z0-9]{2,60}(?:_v[0-9]{1,60})?(?=\0)")
_SO = Needle(b".so")
_LONGEST = 128
_STRING_SECTIONS = (".rodata", ".lrodata", ".rdata")


@dataclass(frozen=True, slots=True)
class Names:
    """What was found, each sorted: library names and driver entry points."""

    libraries: tuple[str, ...]
    entry_points: tuple[str, ...]


def names_in(image: ElfImage) -> Names:
    """Names such as ``libcuda.so.1`` and ``cuMemCreate`` in the file's read-only data."""
    libraries: set[bytes] = set()
    entry_points: set[bytes] = set()
    for section in _string_sections(image):
        for _, piece in image.view.pieces(section.offset, section.size):
            libraries.update(text for text in _strings_with(piece, _SO) if _LIBRARY.fullmatch(text))
            entry_points.update(entry_points_in(piece))
    return Names(_sorted(libraries), _sorted(entry_points))


def _sorted(found: set[bytes]) -> tuple[str, ...]:
    return tuple(sorted(name.decode("ascii") for name in found))


def _strings_with(piece: bytes, hint: Needle) -> Iterator[bytes]:
    """The NUL-terminated strings of ``piece`` around each ``hint``; searching for it is what makes this fast."""
    for hit in hint.all(piece):
        start = piece.rfind(b"\0", max(hit - _LONGEST, 0), hit + 1) + 1
        end = piece.find(b"\0", hit + 1, hit + _LONGEST)
        if start and end >= 0:
            yield piece[start:end]


def entry_points_in(piece: bytes) -> Iterator[bytes]:
    """The strings that are whole names of entry points."""
    for found in _DRIVER.finditer(piece):
        if found.start() and piece[found.start() - 1] == 0:
            yield found[0]


def _string_sections(image: ElfImage) -> Iterator[Section]:
    for section in image.sections:
        if section.in_file and section.name.startswith(_STRING_SECTIONS):
            yield section
