"""Kernels that host code registers: nvcc writes each name that can be launched as a string into read-only data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.formats.elf import ElfImage

_READ_ONLY = ".rodata"


def registered_names(image: ElfImage, names: dict[bytes, str], longest: int) -> frozenset[str] | None:
    """Those of ``names`` that the file's read-only data has as strings.

    ``None`` when nobody can know: some of that data was not kept, or none of the names is there, as in programs that
    load modules by other means. ``longest`` is the most bytes of a name.
    """
    found: set[str] = set()
    for section in image.sections:
        if section.name.startswith(_READ_ONLY) and section.in_file:
            seen, carried = 0, b""
            for _, piece in image.view.pieces(section.offset, section.size):
                *whole, rest = (carried + piece).split(b"\0")
                seen, carried = seen + len(piece), rest[-longest - 1 :]
                found.update(names[text] for text in names.keys() & set(whole))
            if seen != section.size:
                return None
    return frozenset(found) or None
