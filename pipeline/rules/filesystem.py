"""The files and links of artifacts as a dynamic linker finds them: folders, links, the merged layers of an image."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from pipeline.model.paths import printable

if TYPE_CHECKING:
    from pipeline.formats.facts import ImageFacts, Inventory

_MOST_LINKS = 40  # the kernel's own limit
_LOADERS = ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")


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
        return self.path.rpartition("/")[2]

    def at(self, path: str) -> Place:
        """Another path in the same container."""
        return Place(self.container, path)


@dataclass(slots=True)
class Tree:
    """Every file and link of all artifacts. The layers of one image are one container.

    ``printed`` gives the path that findings name (with its layer), ``roots`` the containers that are laid out like a
    machine, ``complete`` those of them that have a C library of their own.
    """

    files: set[Place] = field(default_factory=set)
    links: dict[Place, str] = field(default_factory=dict)
    printed: dict[Place, str] = field(default_factory=dict)
    roots: set[str] = field(default_factory=set)
    complete: set[str] = field(default_factory=set)
    by_name: dict[str, list[Place]] = field(default_factory=dict)
    _versions: dict[str, set[str]] = field(default_factory=dict)
    _layers: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, inventories: tuple[Inventory, ...]) -> Self:
        """Read the listings."""
        tree = cls()
        for inventory in inventories:
            for image in inventory.images:
                tree._layers += _prefixes(image)
        for inventory in inventories:
            tree.files.update(map(tree._note, inventory.files))
            tree.links.update((tree._note(printed), target) for printed, target in inventory.links.items())
        return tree

    def place(self, printed: str) -> Place:
        """Where a printed member path lies."""
        for prefix, container in self._layers:
            if printed.startswith(prefix):
                return Place(container, posixpath.normpath(printed[len(prefix) :]))
        return Place.of(printed)

    def print(self, place: Place) -> str:
        """The path that findings name."""
        return self.printed.get(place, f"{place.container}{place.path}")

    def _note(self, printed: str) -> Place:
        place = self.place(printed)
        self.printed[place] = printed
        name = place.name
        self.by_name.setdefault(name, []).append(place)
        stem, numbered, _ = name.partition(".so.")
        if numbered:
            self._versions.setdefault(stem, set()).add(name)
        if place.path.startswith(("etc/", "usr/")):
            self.roots.add(place.container)
            if name in _LOADERS:
                self.complete.add(place.container)
        return place

    def resolve(self, place: Place) -> Place | None:
        """The regular file behind a path, through links of files and folders; ``None`` where there is none."""
        if place.name not in self.by_name:
            return None
        for _ in range(_MOST_LINKS):
            if place in self.files:
                return place
            followed = self._follow(place)
            if followed is None:
                return None
            place = followed
        return None

    def _follow(self, place: Place) -> Place | None:
        """The path with the first link on it replaced by its target."""
        parts = place.path.split("/")
        for count in range(1, len(parts) + 1):
            link = place.at("/".join(parts[:count]))
            target = self.links.get(link)
            if target is None:
                continue
            if not target.startswith("/"):
                target = posixpath.join(link.folder, target)
            elif link.container not in self.roots:
                return None  # a file of the host
            return place.at(self._normal(place.container, posixpath.join(target, *parts[count:])))
        return None

    def _normal(self, container: str, path: str) -> str:
        """Without ``.`` and ``..``; a file system has nothing above its root."""
        return posixpath.normpath(f"/{path}").lstrip("/") if container in self.roots else posixpath.normpath(path)

    def inside(self, container: str, path: str) -> Place | None:
        """The place of an absolute or relative path; ``None`` for absolute ones that are the host's."""
        if path.startswith("/") and container not in self.roots:
            return None
        return Place(container, self._normal(container, path))

    def named(self, name: str) -> list[Place]:
        """Every file or link of that name, wherever it lies."""
        return self.by_name.get(name, [])

    def versions(self, stem: str) -> list[str]:
        """The names ``STEM.so.…`` that the artifacts have, sorted."""
        return sorted(self._versions.get(stem, ()))


def _prefixes(image: ImageFacts) -> list[tuple[str, str]]:
    container = f"{image.path}!/"
    return [(f"{container}{printable(layer)}!/", container) for layer in image.layers]
