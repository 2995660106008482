"""Entry functions of cubins by name, with registers, shared memory and block size; PTX: see ``ptx_entries``."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from pipeline.binary import FormatError
from pipeline.formats.cubin import attributes, entry_symbols
from pipeline.formats.facts import KernelFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.budgets import Budgets
    from pipeline.formats.elf import ElfImage, Section

_INFO, _SHARED = ".nv.info", ".nv.shared."
_REGCOUNT, _MAX_THREADS, _REQUIRED_THREADS = 0x2F, 0x05, 0x10
_DIMENSIONS = struct.Struct("<III")


@dataclass(slots=True)
class KernelNames:
    """Kernels met so far in an artifact, so that equal ones are one object; it also holds them against the limits."""

    budgets: Budgets
    names: dict[bytes, str] = field(default_factory=dict)
    known: dict[KernelFacts, KernelFacts] = field(default_factory=dict)
    counted: int = 0
    size: int = 0

    def name(self, raw: bytes) -> str:
        """The name as text; ``FormatError`` when all of them together are too long."""
        known = self.names.get(raw)
        if known is None:
            self.size += len(raw)
            if self.size > self.budgets.kernel_names:
                raise FormatError(f"more than {self.budgets.kernel_names} bytes of kernel names in one artifact")
            known = self.names[raw] = raw.decode("utf-8", "backslashreplace")
        return known

    def collect(self, found: Iterator[KernelFacts]) -> tuple[KernelFacts, ...]:
        """The kernels of one image sorted by name, each name once; ``FormatError`` past the limit."""
        kernels: dict[str, KernelFacts] = {}
        for kernel in found:
            self.counted += 1
            if self.counted > self.budgets.kernels:
                raise FormatError(f"more than {self.budgets.kernels} kernels in one artifact")
            kernels[kernel.name] = self.known.setdefault(kernel, kernel)
        return tuple(kernels[name] for name in sorted(kernels))


def cubin_kernels(image: ElfImage, names: KernelNames) -> tuple[KernelFacts, ...]:
    """The entry functions of a cubin; ``FormatError`` where its tables contradict each other."""
    return names.collect(_of_cubin(image, names))


def _of_cubin(image: ElfImage, names: KernelNames) -> Iterator[KernelFacts]:
    sections = {section.name: section for section in image.sections}
    registers = _registers(image, sections.get(_INFO))
    strings: dict[Section, bytes] = {}
    seen: set[str] = set()
    for symbol in entry_symbols(image):
        if symbol.table not in strings:
            strings[symbol.table] = _strings(image, symbol.table)
        name = names.name(_name(strings[symbol.table], symbol.name_at, names.budgets))
        if name in seen:
            continue
        seen.add(name)
        shared = sections.get(_SHARED + name)
        threads, exact = _threads(image, sections.get(f"{_INFO}.{name}"))
        yield KernelFacts(
            name=name,
            registers=registers.get(symbol.index),
            static_shared=shared.size if shared is not None else 0,
            threads=threads,
            exact=exact,
        )


def _strings(image: ElfImage, table: Section) -> bytes:
    if not 0 < table.link < len(image.sections):
        raise FormatError(f"symbol names in section {table.link} of {len(image.sections)}")
    section = image.sections[table.link]
    return image.view.read(section.offset, section.size)


def _name(strings: bytes, at: int, budgets: Budgets) -> bytes:
    end = strings.find(b"\0", at, at + budgets.name + 1)
    if end <= at:
        raise FormatError("a kernel whose name is empty, endless or outside its table")
    return strings[at:end]


def _registers(image: ElfImage, section: Section | None) -> dict[int, int]:
    """Registers per thread by symbol number."""
    found: dict[int, int] = {}
    for attribute, payload in _attributes(image, section):
        if attribute == _REGCOUNT and len(payload) == 8:
            index, count = struct.unpack("<II", payload)
            found[index] = count
    return found


def _threads(image: ElfImage, section: Section | None) -> tuple[int | None, bool]:
    """Threads of the largest block, and whether every block must be of that size."""
    threads: int | None = None
    for attribute, payload in _attributes(image, section):
        if attribute in {_MAX_THREADS, _REQUIRED_THREADS} and len(payload) == _DIMENSIONS.size:
            threads = prod(_DIMENSIONS.unpack(payload))
            if attribute == _REQUIRED_THREADS:
                return threads, True
    return threads, False


def _attributes(image: ElfImage, section: Section | None) -> Iterator[tuple[int, bytes]]:
    if section is not None and section.in_file:
        yield from attributes(image.view.read(section.offset, section.size))
