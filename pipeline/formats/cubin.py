"""Cubin ELF files of both ABI generations: what the header, notes and symbol table say about the device code."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.binary import FormatError, ShortRead
from pipeline.formats.elf import MACHINE_CUDA, SHT_SYMTAB, TYPE_OBJECT, ElfHeader, ElfImage, read_elf
from pipeline.formats.facts import CubinFacts
from pipeline.model.arch import ArchKind, ArchSuffix, TargetArch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.binary import View
    from pipeline.formats.budgets import Budgets
    from pipeline.formats.elf import Section

# (OS ABI, ABI version) as written by ptxas 11.8 to 13.5; other pairs are newer than this reader.
ABI_7, ABI_8 = (0x33, 7), (0x41, 8)
_ABI7_ACCELERATED, _ABI8_ACCELERATED = 0x800, 0x8
_COMPAT_ACCELERATED = 0x09
_CUDA_API_VERSION = 0x37
SHARED = ".nv.shared."
_NOTE_CUINFO = 1000
_FUNCTION, _ENTRY = 2, 0x10
_SIZED = 4
_SYMBOL = struct.Struct("<IBBHQQ")


def header_facts(header: ElfHeader) -> CubinFacts:
    """Facts of the first 64 bytes alone: kernels unknown; the toolkit only where ABI 7 puts it there."""
    if header.machine != MACHINE_CUDA:
        raise FormatError(f"machine {header.machine}, not a cubin's")
    old = header.os_abi == ABI_7[0]
    return CubinFacts(
        arch=_arch(header, accelerated=False),
        os_abi=header.os_abi,
        abi=header.abi_version,
        e_flags=header.flags,
        toolkit=header.version if old and header.version > 1 else None,
        kernels=None,
        relocatable=header.elf_type == TYPE_OBJECT,
    )


def read_cubin(view: View, budgets: Budgets) -> CubinFacts:
    """Facts of a whole cubin; ``FormatError`` where it is damaged."""
    return cubin_facts(read_elf(view, budgets))


def cubin_facts(image: ElfImage) -> CubinFacts:
    """Facts of a cubin whose skeleton is read already; ``FormatError`` where it is damaged."""
    facts = header_facts(image.header)
    toolkit = facts.toolkit if facts.toolkit is not None else _toolkit(image)
    shared, largest = max(_shared(image), default=(0, ""))
    return CubinFacts(
        arch=_arch(image.header, accelerated=_accelerated(image)),
        os_abi=facts.os_abi,
        abi=facts.abi,
        e_flags=facts.e_flags,
        toolkit=toolkit,
        kernels=sum(1 for _ in entry_symbols(image)),
        relocatable=facts.relocatable,
        shared=shared,
        largest=largest,
    )


def _shared(image: ElfImage) -> Iterator[tuple[int, str]]:
    """Static shared memory of each kernel that has some."""
    for section in image.sections:
        if section.name.startswith(SHARED):
            yield section.size, section.name.removeprefix(SHARED)


def _arch(header: ElfHeader, *, accelerated: bool) -> TargetArch | None:
    """The SM number sits in another byte in each ABI; an ABI this reader does not know has no architecture."""
    pair = (header.os_abi, header.abi_version)
    if pair == ABI_8:
        number, flagged = (header.flags >> 8) & 0xFF, bool(header.flags & _ABI8_ACCELERATED)
    elif header.os_abi == ABI_7[0]:
        number, flagged = header.flags & 0xFF, bool(header.flags & _ABI7_ACCELERATED)
    else:
        return None
    suffix = ArchSuffix.SPECIFIC if flagged or accelerated else ArchSuffix.NONE
    return TargetArch(number, suffix, ArchKind.REAL)


def _accelerated(image: ElfImage) -> bool:
    """Toolkits from 13.0 on mark ``a`` targets only by attribute 9 of ``.nv.compat``."""
    section = image.section(".nv.compat")
    if section is None or not section.in_file:
        return False
    data = image.view.read(section.offset, section.size)
    return any(attribute == _COMPAT_ACCELERATED and value == 1 for attribute, value in _attributes(data))


def _toolkit(image: ElfImage) -> int | None:
    """ABI 8 names the toolkit in ``.note.nv.cuinfo`` (13.x) or in each kernel's ``.nv.info.*`` (12.8 and 12.9)."""
    note = image.section(".note.nv.cuinfo")
    if note is not None and note.in_file:
        data = image.view.read(note.offset, note.size)
        if len(data) < 12:
            raise ShortRead("a note shorter than its header")
        name_size, size, kind = struct.unpack_from("<III", data)
        at = 12 + (name_size + 3) // 4 * 4
        if kind == _NOTE_CUINFO and size >= 8 and len(data) >= at + 8:
            return int(struct.unpack_from("<I", data, at + 4)[0])
    for section in image.sections:
        if section.name.startswith(".nv.info.") and section.in_file:
            for attribute, value in _attributes(image.view.read(section.offset, section.size)):
                if attribute == _CUDA_API_VERSION:
                    return value
    return None


def _attributes(data: bytes) -> Iterator[tuple[int, int]]:
    """Pairs of attribute and value; a sized one (format 4) yields its first word, 0 when it has none."""
    for attribute, payload in attributes(data):
        yield attribute, int.from_bytes(payload[:4], "little")


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Attributes of an ``.nv.info`` section with their payloads: two bytes, or as many as a sized one (format 4) says.

    ``ShortRead`` where one reaches past the section.
    """
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form != _SIZED:
            yield attribute, data[at - 2 : at]
            continue
        if at + size > len(data):
            raise ShortRead("an attribute reaches past its section")
        yield attribute, data[at : at + size]
        at += size


@dataclass(frozen=True, slots=True)
class EntrySymbol:
    """An entry function: its number in the symbol table ``table``, and where its name starts in the strings."""

    index: int
    name_at: int
    table: Section


def entry_symbols(image: ElfImage) -> Iterator[EntrySymbol]:
    """The symbols that are entry functions."""
    for section in image.sections:
        if section.kind == SHT_SYMTAB:
            table = image.view.read(section.offset, section.size - section.size % _SYMBOL.size)
            for index, (name_at, info, other, *_rest) in enumerate(_SYMBOL.iter_unpack(table)):
                if info & 0xF == _FUNCTION and other & _ENTRY:
                    yield EntrySymbol(index, name_at, section)
