"""The skeleton of an ELF file: header, sections, segments; the same for host files and cubins."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.binary import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.binary import View
    from pipeline.formats.budgets import Budgets

MAGIC = b"\x7fELF"
MACHINE_CUDA = 190
TYPE_OBJECT, TYPE_EXECUTABLE, TYPE_SHARED = 1, 2, 3
SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS, SHT_DYNSYM = 2, 3, 8, 11
SHF_ALLOC, SHF_EXECINSTR = 0x2, 0x4
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
PF_X = 0x1

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
# Types above this are the vendor's own; cubins have some whose size is memory, not bytes of the file.
_SHT_OS_SPECIFIC = 0x60000000
_NUMBER_IN_FIRST_SECTION = 0xFFFF
HEADER_SIZE, SECTION_SIZE, SEGMENT_SIZE = _HEADER.size, _SECTION.size, _SEGMENT.size


@dataclass(frozen=True, slots=True)
class Section:
    """One row of the section table; offsets and sizes in bytes."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int

    @property
    def in_file(self) -> bool:
        """Whether the section occupies bytes of the file."""
        return self.kind != SHT_NOBITS and self.size > 0


@dataclass(frozen=True, slots=True)
class Segment:
    """One row of the program header table."""

    kind: int
    flags: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class ElfHeader:
    """The first 64 bytes of a 64-bit little-endian ELF file."""

    os_abi: int
    abi_version: int
    elf_type: int
    machine: int
    version: int
    flags: int
    segments_at: int
    segments: int
    sections_at: int
    sections: int
    names: int


@dataclass(frozen=True, slots=True)
class ElfImage:
    """An ELF file's skeleton and the bytes it was read from."""

    view: View
    header: ElfHeader
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...]

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((section for section in self.sections if section.name == name), None)

    def offset_of(self, address: int) -> int:
        """Where in the file the byte that loads at ``address`` lies; ``FormatError`` if nowhere."""
        for segment in self.segments:
            if segment.kind == PT_LOAD and segment.address <= address < segment.address + segment.size:
                return address - segment.address + segment.offset
        raise FormatError(f"address {address:#x} is in no loaded segment")


def foreign(head: bytes) -> str | None:
    """Name an ELF file that is not 64-bit little-endian; ``None`` for one that is."""
    bits = {1: "32-bit", 2: "64-bit"}.get(head[4] if len(head) > 4 else 0, "unknown-class")
    order = {1: "little-endian", 2: "big-endian"}.get(head[5] if len(head) > 5 else 0, "unknown-order")
    return None if (bits, order) == ("64-bit", "little-endian") else f"{bits} {order} ELF"


def parse_header(head: bytes) -> ElfHeader:
    """Read the file header; ``FormatError`` if these are not the first 64 bytes of an ELF file we read."""
    if len(head) < HEADER_SIZE or head[:4] != MAGIC or foreign(head) is not None:
        raise FormatError("not a 64-bit little-endian ELF header")
    ident, kind, machine, version, _, phoff, shoff, flags, _, phentsize, phnum, shentsize, shnum, shstrndx = (
        _HEADER.unpack_from(head)
    )
    if phnum and phoff and phentsize != _SEGMENT.size:
        raise FormatError(f"program headers of {phentsize} bytes")
    if shoff and shentsize != _SECTION.size:
        raise FormatError(f"section headers of {shentsize} bytes")
    return ElfHeader(
        ident[7], ident[8], kind, machine, version, flags, phoff, phnum if phoff else 0, shoff, shnum, shstrndx
    )


def read_elf(view: View, budgets: Budgets) -> ElfImage:
    """Read the skeleton; ``FormatError`` where it contradicts itself or the file's size."""
    header = parse_header(view.head(HEADER_SIZE))
    sections = tuple(_sections(view, header, budgets)) if header.sections_at else ()
    return ElfImage(view, header, sections, tuple(read_segments(view, header)))


def read_segments(view: View, header: ElfHeader) -> Iterator[Segment]:
    """Read the program headers that ``header`` announces."""
    table = view.read(header.segments_at, header.segments * _SEGMENT.size)
    for kind, flags, offset, address, _, size, _, _ in _SEGMENT.iter_unpack(table):
        yield Segment(kind, flags, offset, address, size)


def _sections(view: View, header: ElfHeader, budgets: Budgets) -> Iterator[Section]:
    first = _SECTION.unpack(view.read(header.sections_at, _SECTION.size))
    count = header.sections or first[5]
    names_at = first[6] if header.names == _NUMBER_IN_FIRST_SECTION else header.names
    if count > budgets.sections:
        raise FormatError(f"{count} sections, more than {budgets.sections}")
    rows = list(_SECTION.iter_unpack(view.read(header.sections_at, count * _SECTION.size)))
    if rows and names_at >= len(rows):
        raise FormatError(f"section names in section {names_at} of {len(rows)}")
    names = _names(view, rows[names_at]) if rows and names_at else b""
    for name, kind, flags, address, offset, size, link, info, _, _ in rows:
        section = Section(_name_at(names, name), kind, flags, address, offset, size, link, info)
        if section.in_file and 0 < kind < _SHT_OS_SPECIFIC:
            view.check(offset, size)
        yield section


def _names(view: View, row: tuple[int, ...]) -> bytes:
    if row[1] != SHT_STRTAB:
        raise FormatError("the section name table is no string table")
    return view.read(row[4], row[5])


def _name_at(names: bytes, offset: int) -> str:
    end = names.find(b"\0", offset)
    return names[offset : max(end, offset)].decode("utf-8", "surrogateescape")
