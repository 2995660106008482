"""Where the dynamic linker would look inside an artifact: rpath, runpath, ``$ORIGIN``, what is loaded already."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts, Inventory

_LONGEST_LINK_CHAIN = 16
_SYSTEM_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64", "usr/local/lib")
_ORIGIN = ("$ORIGIN", "${ORIGIN}")


@dataclass(frozen=True, slots=True)
class Place:
    """A file of an artifact: the container it lies in, as printed, and its path there."""

    container: str
    path: str

    @classmethod
    def of(cls, printed: str) -> Self:
        """Split a printed member path."""
        container, mark, inner = printed.rpartition("!/")
        return cls(container + mark, posixpath.normpath(inner))

    @property
    def folder(self) -> str:
        """The folder it lies in."""
        return posixpath.dirname(self.path)

    @property
    def name(self) -> str:
        """Its file name."""
        return posixpath.basename(self.path)


@dataclass(slots=True)
class Tree:
    """The files and links of all artifacts, by container."""

    files: set[Place] = field(default_factory=set)
    links: dict[Place, str] = field(default_factory=dict)
    folders: dict[Place, list[Place]] = field(default_factory=dict)

    @classmethod
    def of(cls, inventories: tuple[Inventory, ...]) -> Self:
        """Read the listings."""
        tree = cls()
        for inventory in inventories:
            tree.files.update(Place.of(printed) for printed in inventory.files)
            tree.links.update((Place.of(printed), target) for printed, target in inventory.links.items())
        for place in (*tree.files, *tree.links):
            tree.folders.setdefault(Place(place.container, place.folder), []).append(place)
        return tree

    def resolve(self, place: Place) -> Place | None:
        """The regular file behind a path, through links; ``None`` where there is none."""
        for _ in range(_LONGEST_LINK_CHAIN):
            if place in self.files:
                return place
            target = self.links.get(place)
            if target is None:
                return None
            inner = target.lstrip("/") if target.startswith("/") else posixpath.join(place.folder, target)
            place = Place(place.container, posixpath.normpath(inner))
        return None

    def is_root_filesystem(self, container: str) -> bool:
        """Whether the container is laid out like a machine: then the system's folders are searched as well."""
        return any(
            folder.container == container and (folder.path == "etc" or folder.path.startswith(("etc/", "usr/")))
            for folder in self.folders
        )

    def named(self, name: str) -> list[Place]:
        """Every file or link of that name, wherever it lies."""
        return [place for group in self.folders.values() for place in group if place.name == name]


class Loader:
    """Answers which needed libraries of which ELF file are found, as the dynamic linker of the host would."""

    def __init__(self, inventories: tuple[Inventory, ...]) -> None:
        self.tree = Tree.of(inventories)
        self._elves = {Place.of(str(elf.path)): elf for inventory in inventories for elf in inventory.elves}
        self._rootfs: dict[str, bool] = {}
        self._found = {
            place: {name: self._search(place, elf, name) for name in elf.needed} for place, elf in self._elves.items()
        }
        self._closures = {place: self._closure(place) for place in self._elves}

    def search(self, elf: ElfFacts, name: str) -> Place | None:
        """Where the ELF file's own search path finds ``name`` in the artifact; ``None``: nowhere."""
        return self._search(Place.of(str(elf.path)), elf, name)

    def missing(self, elf: ElfFacts) -> Iterator[str]:
        """Needed libraries that nothing in the artifact brings within reach of the linker."""
        place = Place.of(str(elf.path))
        for name, found in self._found[place].items():
            if found is None and not self._loaded_with(place, name):
                yield name

    def _search(self, place: Place, elf: ElfFacts, name: str) -> Place | None:
        if "/" in name:
            return self.tree.resolve(Place(place.container, posixpath.normpath(name.lstrip("/"))))
        for folder in (*self._own_folders(place, elf), *self._system_folders(place.container)):
            hit = self.tree.resolve(Place(place.container, posixpath.normpath(posixpath.join(folder, name))))
            if hit is not None:
                return hit
        return None

    def _own_folders(self, place: Place, elf: ElfFacts) -> Iterator[str]:
        for entry in elf.runpath or elf.rpath:
            for path in entry.split(":"):
                yield expand(path, place.folder)

    def _system_folders(self, container: str) -> tuple[str, ...]:
        if container not in self._rootfs:
            self._rootfs[container] = self.tree.is_root_filesystem(container)
        if not self._rootfs[container]:
            return ()
        listed = {folder.path for folder in self.tree.folders if folder.container == container}
        # What ld.so.conf adds is not read: any lib folder of the distribution or of /usr/local counts.
        return tuple(
            sorted(
                path
                for path in listed
                if path in _SYSTEM_FOLDERS or path.startswith(("usr/lib/", "lib/", "usr/local/"))
            )
        )

    def _closure(self, root: Place) -> set[Place]:
        """The files that loading ``root`` brings into its process."""
        seen, queue = {root}, [root]
        while queue:
            for hit in self._found.get(queue.pop(), {}).values():
                if hit is not None and hit not in seen:
                    seen.add(hit)
                    queue.append(hit)
        return seen

    def _loaded_with(self, place: Place, name: str) -> bool:
        """Whether a process that loads this file has ``name`` already, or finds it by an inherited rpath.

        Libraries are also opened at run time, so any program of the same container counts as such a process.
        """
        for root, closure in self._closures.items():
            elf = self._elves[root]
            carries = place in closure or (elf.interpreter is not None and root.container == place.container)
            if not carries:
                continue
            if any(
                hit is not None and needed == name
                for member in closure
                for needed, hit in self._found.get(member, {}).items()
            ):
                return True
            if place in closure and not elf.runpath and elf.rpath and self._search(root, elf, name) is not None:
                return True
        return False


def expand(path: str, origin: str) -> str:
    """A search path entry with ``$ORIGIN`` filled in, relative to the container's root."""
    for word in _ORIGIN:
        path = path.replace(word, origin or ".")
    return path.lstrip("/") or "."
