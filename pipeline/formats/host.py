"""What the dynamic linker reads in a host ELF file: libraries, paths, symbol versions, imports."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.binary import FormatError
from pipeline.formats.elf import (
    PF_X,
    PT_DYNAMIC,
    PT_INTERP,
    PT_LOAD,
    SHT_DYNSYM,
    TYPE_EXECUTABLE,
    TYPE_OBJECT,
    TYPE_SHARED,
    ElfImage,
)
from pipeline.formats.facts import ElfFacts, SymbolNeed
from pipeline.formats.properties import isa_level
from pipeline.formats.strings import names_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.budgets import Budgets
    from pipeline.model.paths import MemberPath

_MACHINES = {62: "x86_64", 183: "aarch64"}
_TYPES = {TYPE_OBJECT: "object", TYPE_EXECUTABLE: "executable", TYPE_SHARED: "shared"}
_NEEDED, _HASH, _STRTAB, _SYMTAB, _STRSZ = 1, 4, 5, 6, 10
_SONAME, _RPATH, _RUNPATH = 14, 15, 29
_VERSYM, _VERNEED, _VERNEEDNUM = 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF
_VERDEF, _VERDEFNUM = 0x6FFFFFFC, 0x6FFFFFFD
_FLAGS_1, _NODEFLIB = 0x6FFFFFFB, 0x800
_SYMBOL_SIZE, _WEAK, _HIDDEN = 24, 2, 0x7FFF
_SYMBOL_START = struct.Struct("<IB")
_DYNAMIC_ENTRY = struct.Struct("<QQ")
_VERNEED_ROW, _VERNAUX_ROW = struct.Struct("<HHIII"), struct.Struct("<IHHII")
_VERDEF_ROW = struct.Struct("<HHHHIII")


@dataclass(slots=True)
class _Dynamic:
    """The dynamic section: tags in order, and the string table they index."""

    tags: list[tuple[int, int]] = field(default_factory=list)
    strings: bytes = b""

    def first(self, tag: int) -> int | None:
        return next((value for name, value in self.tags if name == tag), None)

    def texts(self, tag: int) -> tuple[str, ...]:
        return tuple(self.text(value) for name, value in self.tags if name == tag)

    def text(self, offset: int) -> str:
        end = self.strings.find(b"\0", offset)
        if end < 0:
            raise FormatError(f"string offset {offset:#x} is outside the dynamic string table")
        return self.strings[offset:end].decode("utf-8", "surrogateescape")


def read_host(image: ElfImage, path: MemberPath, *, has_device_code: bool, budgets: Budgets) -> ElfFacts:
    """Read all facts; ``FormatError`` where the tables contradict each other or the file's size."""
    dynamic = _dynamic(image)
    libraries = tuple(_version_needs(image, dynamic, budgets))
    symbols = _symbols(image, dynamic, budgets)
    names = names_in(image)
    return ElfFacts(
        path=path,
        machine=_MACHINES.get(image.header.machine, f"machine {image.header.machine}"),
        elf_type=_TYPES.get(image.header.elf_type, f"type {image.header.elf_type}"),
        interpreter=_interpreter(image),
        soname=next(iter(dynamic.texts(_SONAME)), None),
        needed=dynamic.texts(_NEEDED),
        rpath=_search_path(dynamic, _RPATH),
        runpath=_search_path(dynamic, _RUNPATH),
        version_needs=_by_library(libraries),
        imports=tuple(symbols.imports(_versions(libraries))),
        exports_count=symbols.exports_count(),
        has_device_code=has_device_code,
        dlopen_names=names.libraries,
        dlsym_names=names.entry_points,
        driver_exports=tuple(symbols.driver_exports()),
        version_definitions=tuple(_version_definitions(image, dynamic, budgets)),
        isa_level=isa_level(image),
        code_size=sum(part.size for part in image.segments if part.kind == PT_LOAD and part.flags & PF_X),
        no_default_folders=bool((dynamic.first(_FLAGS_1) or 0) & _NODEFLIB),
    )


def _interpreter(image: ElfImage) -> str | None:
    for segment in image.segments:
        if segment.kind == PT_INTERP:
            return image.view.read(segment.offset, segment.size).rstrip(b"\0").decode("utf-8", "surrogateescape")
    return None


def _search_path(dynamic: _Dynamic, tag: int) -> tuple[str, ...]:
    return tuple(part for text in dynamic.texts(tag) for part in text.split(":"))


def _dynamic(image: ElfImage) -> _Dynamic:
    for segment in image.segments:
        if segment.kind == PT_DYNAMIC and segment.size:
            data = image.view.read(segment.offset, segment.size - segment.size % _DYNAMIC_ENTRY.size)
            found = _Dynamic(list(_until_null(data)))
            start, size = found.first(_STRTAB), found.first(_STRSZ)
            if start is not None and size is not None:
                found.strings = image.view.read(image.offset_of(start), size)
            return found
    return _Dynamic()


def _until_null(data: bytes) -> Iterator[tuple[int, int]]:
    for tag, value in _DYNAMIC_ENTRY.iter_unpack(data):
        if tag == 0:
            return
        yield tag, value


@dataclass(frozen=True, slots=True)
class _VersionNeed:
    """One symbol version required of one library; ``index`` is how the symbol table refers to it."""

    library: str
    version: str
    index: int


def _version_needs(image: ElfImage, dynamic: _Dynamic, budgets: Budgets) -> Iterator[_VersionNeed]:
    """Walk the chains of DT_VERNEED; every step goes forward, and their number is bounded."""
    start, rows = dynamic.first(_VERNEED), dynamic.first(_VERNEEDNUM) or 0
    if start is None:
        return
    at, left = image.offset_of(start), budgets.version_needs
    for _ in range(min(rows, left)):
        _, count, library, first, following = _VERNEED_ROW.unpack(image.view.read(at, _VERNEED_ROW.size))
        aux = at + first
        for _ in range(count):
            left -= 1
            if left < 0:
                raise FormatError(f"more than {budgets.version_needs} symbol versions are required")
            _, _, other, name, step = _VERNAUX_ROW.unpack(image.view.read(aux, _VERNAUX_ROW.size))
            yield _VersionNeed(dynamic.text(library), dynamic.text(name), other)
            aux += step
        at += following


def _version_definitions(image: ElfImage, dynamic: _Dynamic, budgets: Budgets) -> Iterator[str]:
    """Walk the chain of DT_VERDEF; of each row only the first name, the others are what it inherits from."""
    start, rows = dynamic.first(_VERDEF), dynamic.first(_VERDEFNUM) or 0
    if start is None:
        return
    at = image.offset_of(start)
    for _ in range(min(rows, budgets.version_needs)):
        _, _, _, names, _, first, following = _VERDEF_ROW.unpack(image.view.read(at, _VERDEF_ROW.size))
        if names:
            yield dynamic.text(image.view.u32(at + first))
        if following == 0:
            return
        at += following


def _by_library(needs: tuple[_VersionNeed, ...]) -> dict[str, tuple[str, ...]]:
    grouped: dict[str, list[str]] = {}
    for need in needs:
        grouped.setdefault(need.library, []).append(need.version)
    return {library: tuple(versions) for library, versions in grouped.items()}


def _versions(needs: tuple[_VersionNeed, ...]) -> dict[int, _VersionNeed]:
    return {need.index & _HIDDEN: need for need in needs}


@dataclass(frozen=True, slots=True)
class _Symbols:
    """The dynamic symbol table as columns; a table of a million rows is read without a million objects."""

    table: bytes
    homes: list[int]
    versions: tuple[int, ...]
    dynamic: _Dynamic

    def imports(self, needs: dict[int, _VersionNeed]) -> Iterator[SymbolNeed]:
        for index in [index for index, home in enumerate(self.homes) if home == 0 and index]:
            name, info = _SYMBOL_START.unpack_from(self.table, _SYMBOL_SIZE * index)
            need = needs.get(self.versions[index] & _HIDDEN) if index < len(self.versions) else None
            yield SymbolNeed(
                name=self.dynamic.text(name),
                version=need.version if need else None,
                library=need.library if need else None,
                weak=info >> 4 == _WEAK,
            )

    def exports_count(self) -> int:
        return len(self.homes) - self.homes.count(0)

    def driver_exports(self) -> Iterator[str]:
        """Names of driver entry points defined here; only read where ``cuInit`` is among the strings."""
        if b"\0cuInit\0" not in self.dynamic.strings:
            return
        for index, home in enumerate(self.homes):
            name = self.dynamic.text(_SYMBOL_START.unpack_from(self.table, _SYMBOL_SIZE * index)[0]) if home else ""
            if name[:2] == "cu" and name[2:3].isupper():
                yield name


def _symbols(image: ElfImage, dynamic: _Dynamic, budgets: Budgets) -> _Symbols:
    start = dynamic.first(_SYMTAB)
    if start is None:
        return _Symbols(b"", [], (), dynamic)
    count = _symbol_count(image, dynamic, start)
    if count > budgets.symbols:
        raise FormatError(f"{count} dynamic symbols, more than {budgets.symbols}")
    versions_at = dynamic.first(_VERSYM)
    table = image.view.read(image.offset_of(start), count * _SYMBOL_SIZE)
    homes = memoryview(table).cast("H")[3::12].tolist()
    if versions_at is None:
        return _Symbols(table, homes, (), dynamic)
    versions = image.view.read(image.offset_of(versions_at), count * 2)
    return _Symbols(table, homes, struct.unpack(f"<{count}H", versions), dynamic)


def _symbol_count(image: ElfImage, dynamic: _Dynamic, start: int) -> int:
    """The dynamic section does not say how many symbols there are; the section table, the hash, the layout do."""
    for section in image.sections:
        if section.kind == SHT_DYNSYM:
            return section.size // _SYMBOL_SIZE
    chains = dynamic.first(_HASH)
    if chains is not None:
        return image.view.u32(image.offset_of(chains) + 4)
    strings = dynamic.first(_STRTAB) or 0
    if strings <= start:
        raise FormatError("the number of dynamic symbols cannot be told")
    return (strings - start) // _SYMBOL_SIZE
