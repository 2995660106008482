"""Kernels by group and architecture: what a library has where, and which groups a target's images lack."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.formats.demangle import group_of
from pipeline.rules.kernel_missing import gaps
from pipeline.rules.kernel_view import contents_by_path, served
from pipeline.rules.unit import RESERVED, RESERVED_FROM, library_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.formats.facts import EntryFacts, Inventory, KernelFacts
    from pipeline.model.paths import MemberPath
    from pipeline.rules.subject import Subject


@dataclass(frozen=True, slots=True)
class KernelGroup:
    """All instantiations of one kernel in one library.

    ``archs`` says for each architecture how many of them its images have; ``registers`` per thread and
    ``static_shared`` bytes (without the reserved KiB) are the largest, ``None`` where only PTX is there.
    """

    library: MemberPath
    name: str
    kernels: int
    archs: tuple[tuple[str, int], ...]
    registers: int | None
    static_shared: int

    @property
    def complete(self) -> bool:
        """Whether every architecture that the group is there for has all of it."""
        return all(count == self.kernels for _, count in self.archs)


@dataclass(frozen=True, slots=True)
class KernelReport:
    """The table, and for each target the groups of which its images lack kernels, ordered by name."""

    groups: tuple[KernelGroup, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(slots=True)
class _Group:
    names: dict[str, set[str]] = field(default_factory=dict)
    registers: int | None = None
    shared: int = 0

    def add(self, arch: str, kernel: KernelFacts, reserved: int) -> None:
        self.names.setdefault(arch, set()).add(kernel.name)
        self.shared = max(self.shared, (kernel.static_shared or 0) - reserved)
        if kernel.registers is not None:
            self.registers = max(self.registers or 0, kernel.registers)


def kernel_report(subject: Subject) -> KernelReport | None:
    """The kernels of a subject, ``None`` where they were not read."""
    if not subject.inventories or not all(inventory.kernels for inventory in subject.inventories):
        return None
    return KernelReport(kernel_groups(subject.inventories), tuple(_missing(subject)))


def kernel_groups(inventories: Sequence[Inventory]) -> tuple[KernelGroup, ...]:
    """Every library's kernels by group, in the order of libraries, then of names."""
    names: dict[str, str] = {}
    libraries: dict[MemberPath, dict[str, _Group]] = {}
    for library, entry in _images(inventories):
        groups = libraries.setdefault(library, {})
        machine_code = entry.cubin is not None and entry.arch is not None and entry.arch.number >= RESERVED_FROM
        for kernel in entry.kernels or ():
            name = names.get(kernel.name) or names.setdefault(kernel.name, group_of(kernel.name))
            group = groups.setdefault(name, _Group())
            group.add(str(entry.arch), kernel, RESERVED if machine_code else 0)
    return tuple(_row(library, name, groups[name]) for library, groups in libraries.items() for name in sorted(groups))


def _images(inventories: Sequence[Inventory]) -> Iterator[tuple[MemberPath, EntryFacts]]:
    for inventory in inventories:
        for fatbin in inventory.fatbins:
            library = library_of(fatbin)
            for entry in fatbin.entries:
                yield from ((library, image) for image in (entry.nested or (entry,)))
        yield from ((image.path, image.entry) for image in inventory.bare)


def _row(library: MemberPath, name: str, group: _Group) -> KernelGroup:
    return KernelGroup(
        library=library,
        name=name,
        kernels=len(set[str]().union(*group.names.values())),
        archs=tuple(
            (arch, len(names)) for arch, names in sorted(group.names.items(), key=lambda item: _order(item[0]))
        ),
        registers=group.registers,
        static_shared=group.shared,
    )


def _order(arch: str) -> tuple[str, int, str]:
    kind, _, name = arch.partition("_")
    number = name.rstrip("af")
    return ("" if kind == "sm" else kind, int(number) if number.isdecimal() else 0, name)


def _missing(subject: Subject) -> Iterator[tuple[str, tuple[str, ...]]]:
    contents = contents_by_path(subject)
    for aim in subject.aims:
        found = {group for container in served(aim, contents) for lack in gaps(container) for group in lack.groups}
        yield aim.label, tuple(sorted(found))
