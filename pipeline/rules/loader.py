"""Finds shared libraries as the dynamic linker does: what is loaded already, RPATH, RUNPATH, ld.so.conf, the host.

The order is that of glibc (ld.so(8), dl-load.c), with nothing in LD_LIBRARY_PATH. Some things it knows are not in an
artifact: ``$LIB`` is the distribution's word, so every usual one is tried; relative search paths and ``$PLATFORM``
depend on the working directory and the processor and find nothing; what a program opens at run time comes in an order
that nobody sees, so a library that no program needs is judged with any program of its container around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.rules.filesystem import Place, Tree
from pipeline.rules.loader_paths import SystemFolders, before_defaults, expand

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.formats.facts import ElfFacts, Inventory
    from pipeline.model.cpu import CpuLevel
    from pipeline.rules.host import HostOffer

__all__ = ["Loader", "Place", "Process", "Tree"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A library in a process, or its program; ``parent`` needed it.

    ``origin`` is the folder of the path by which it was found, which need not be that of the file behind a link.
    """

    place: Place
    elf: ElfFacts
    origin: str
    parent: Loaded | None = None

    def chain(self) -> Iterator[Loaded]:
        """This file, what needed it, and so on up to the root."""
        step: Loaded | None = self
        while step is not None:
            yield step
            step = step.parent


@dataclass(slots=True)
class Process:
    """What loading one file brings along, in the dynamic linker's order, breadth first.

    ``found`` maps each name that was asked for to its file, ``None`` where the host brings it. ``missing`` are the
    names that nothing brings, each with the file that needs it; the real linker stops at the first of them.
    """

    root: Loaded
    objects: list[Loaded] = field(default_factory=list)
    found: dict[str, Place | None] = field(default_factory=dict)
    missing: list[tuple[Loaded, str]] = field(default_factory=list)


class Loader:
    """Answers for the ELF files of some artifacts; ``cpu`` opens the folders of glibc-hwcaps up to that level."""

    def __init__(self, inventories: tuple[Inventory, ...], cpu: CpuLevel | None = None) -> None:
        self.tree = Tree.of(inventories)
        self._elves = {self.tree.place(str(elf.path)): elf for inventory in inventories for elf in inventory.elves}
        self._system = SystemFolders(self.tree, inventories)
        self._hwcaps = [f"glibc-hwcaps/x86-64-v{level}" for level in range(cpu or 1, 1, -1)]

    def place(self, elf: ElfFacts) -> Place:
        """Where an ELF file lies."""
        return self.tree.place(str(elf.path))

    def elf(self, place: Place) -> ElfFacts | None:
        """The ELF file at a place."""
        return self._elves.get(place)

    def search(self, elf: ElfFacts, name: str, *, system: bool = True) -> Place | None:
        """Where the ELF file, loaded by itself, finds ``name`` in the artifact; ``None``: nowhere.

        Without ``system`` only its own search path counts.
        """
        hit = self._search(self._root(elf), name, system=system)
        return hit[1] if hit is not None else None

    def first(self, container: str, folders: Iterable[str], name: str) -> Place | None:
        """The library of that name in the first of these absolute folders that has one."""
        for folder in folders:
            opened = self.tree.inside(container, f"{folder}/{name}") if folder.startswith("/") else None
            place = self.tree.resolve(opened) if opened is not None else None
            if place is not None and place in self._elves:
                return place
        return None

    def before_driver(self, container: str) -> tuple[str, ...]:
        """The folders that come before those into which container runtimes mount the driver's libraries."""
        return before_defaults(self._system.folders(container))

    def lent(self, program: ElfFacts, library: ElfFacts, name: str) -> bool:
        """Whether the library finds ``name`` once ``program`` has opened it: by the program's RPATH."""
        if library.runpath or program.runpath or not program.rpath:
            return False
        place = self.place(library)
        return self._search(Loaded(place, library, place.folder, self._root(program)), name) is not None

    def start(self, elf: ElfFacts, host: HostOffer) -> Process:
        """Load a file and all that it needs, as a program starts or as ``ldd`` lists a library."""
        root = self._root(elf)
        process = Process(root, [root])
        if elf.soname:
            process.found[elf.soname] = root.place
        for user in process.objects:  # grows while it is read: breadth first
            for name in user.elf.needed:
                if name not in process.found:
                    self._open(process, user, name, host)
        return process

    def _root(self, elf: ElfFacts) -> Loaded:
        place = self.place(elf)
        return Loaded(place, elf, place.folder)

    def _open(self, process: Process, user: Loaded, name: str, host: HostOffer) -> None:
        hit = self._search(user, name)
        if hit is None:
            if host.brings(name, complete=user.place.container in self.tree.complete):
                process.found[name] = None
            else:
                process.missing.append((user, name))
            return
        opened, place = hit
        elf = self._elves[place]
        process.found[name] = place
        if all(loaded.place != place for loaded in process.objects):
            process.objects.append(Loaded(place, elf, opened.folder, user))
            if elf.soname:
                process.found.setdefault(elf.soname, place)

    def _search(self, user: Loaded, name: str, *, system: bool = True) -> tuple[Place, Place] | None:
        """The path by which ``name`` is found, and the file behind it."""
        container = user.place.container
        if "/" in name:
            return self._usable(container, name, user.elf) if name.startswith("/") else None
        if not self.tree.named(name):  # whatever folders are called: most libraries bring only some of what they need
            return None
        for folder in self._folders(user, system=system):
            for inner in (*self._hwcaps, ""):
                hit = self._usable(container, f"{folder}/{inner}/{name}", user.elf)
                if hit is not None:
                    return hit
        return None

    def _folders(self, user: Loaded, *, system: bool) -> Iterator[str]:
        """Own and inherited RPATH, or else RUNPATH; then what the machine is configured for."""
        if not user.elf.runpath:
            for loaded in user.chain():
                if not loaded.elf.runpath:
                    yield from self._expanded(loaded, loaded.elf.rpath)
        yield from self._expanded(user, user.elf.runpath)
        if system:
            yield from self._system.folders(user.place.container, default=not user.elf.no_default_folders)

    def _expanded(self, loaded: Loaded, entries: tuple[str, ...]) -> Iterator[str]:
        for entry in entries:
            yield from expand(entry, loaded.origin, rooted=loaded.place.container in self.tree.roots)

    def _usable(self, container: str, path: str, user: ElfFacts) -> tuple[Place, Place] | None:
        """The path and the library behind it, if it is one for the same machine; others are passed over."""
        opened = self.tree.inside(container, path)
        place = self.tree.resolve(opened) if opened is not None else None
        elf = self._elves.get(place) if place is not None else None
        if opened is None or place is None or elf is None or elf.machine != user.machine:
            return None
        return opened, place
