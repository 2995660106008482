from __future__ import annotations

import struct

import pytest

from pipeline.binary import BufferView, FormatError
from pipeline.formats.budgets import STANDARD
from pipeline.formats.elf import foreign, parse_header, read_elf
from tests.formats.artifacts import Library, link


def test_sections_and_segments() -> None:
    image = read_elf(BufferView(link(Library(rodata=b"x" * 100))), STANDARD)
    assert image.section(".rodata") is not None
    assert image.section(".absent") is None
    dynamic = image.section(".dynamic")
    assert dynamic is not None
    assert image.offset_of(dynamic.address) == dynamic.offset
    with pytest.raises(FormatError, match="no loaded segment"):
        image.offset_of(1 << 60)


@pytest.mark.parametrize(
    ("at", "byte", "what"),
    [(4, 1, "32-bit little-endian ELF"), (5, 2, "64-bit big-endian ELF"), (4, 9, "unknown-class")],
)
def test_other_elf_files_are_named(at: int, byte: int, what: str) -> None:
    content = bytearray(link(Library()))
    content[at] = byte
    named = foreign(bytes(content))
    assert named is not None
    assert what in named
    with pytest.raises(FormatError):
        parse_header(bytes(content[:64]))


def with_many_sections(count: int, *, in_first: bool) -> bytes:
    """An ELF file of nothing but ``count`` sections, all named alike."""
    names = b"\0.nv_fatbin\0"
    table = 64 + len(names) + (-len(names)) % 8
    number, names_at = (0, 0xFFFF) if in_first else (count, 1)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1" + bytes(9), 3, 62, 1, 0, 0, table, 0, 64, 56, 0, 64, number, names_at
    )
    first = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, count if in_first else 0, 1 if in_first else 0, 0, 0, 0)
    strings = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, len(names), 0, 0, 1, 0)
    row = struct.pack("<IIQQQQIIQQ", 1, 8, 2, 0, 64, 0, 7, 7, 1, 0)
    return (header + names).ljust(table, b"\0") + first + strings + row * (count - 2)


@pytest.mark.parametrize(("count", "in_first"), [(65_000, False), (70_000, True)])
def test_very_many_sections(count: int, in_first: bool) -> None:
    image = read_elf(BufferView(with_many_sections(count, in_first=in_first)), STANDARD)
    assert len(image.sections) == count


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [
        (40, "<Q", 1 << 63),  # section table far outside
        (40, "<Q", (1 << 64) - 64),  # and wrapping around
        (60, "<H", 0xFFF0),  # more sections than bytes
        (58, "<H", 7),  # odd section headers
        (62, "<H", 0xFF00),  # names in a section that is not there
        (32, "<Q", 1 << 62),  # program headers outside
        (54, "<H", 1),  # odd program headers
    ],
)
def test_tables_that_contradict_the_file(at: int, form: str, value: int) -> None:
    content = bytearray(link(Library()))
    struct.pack_into(form, content, at, value)
    with pytest.raises(FormatError):
        read_elf(BufferView(bytes(content)), STANDARD)


def test_links_in_a_circle_are_not_followed() -> None:
    content = bytearray(link(Library()))
    table, count = struct.unpack_from("<Q", content, 40)[0], struct.unpack_from("<H", content, 60)[0]
    for index in range(count):
        struct.pack_into("<II", content, table + 64 * index + 40, index, index)
    assert len(read_elf(BufferView(bytes(content)), STANDARD).sections) == count
