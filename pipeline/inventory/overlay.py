"""The file system that layers make, one over the other: who is there at the end, and from which layer.

As an overlay file system does it (moby's overlay2), a folder of an upper layer replaces a symbolic link of a lower one;
whatever is deleted or replaced is gone, except the content that another hard link still names.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from pipeline.binary import FormatError
from pipeline.inventory.names import relative

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ChangeKind(Enum):
    """What a layer does at a path."""

    CONTENT = auto()
    FOLDER = auto()
    HARD_LINK = auto()


@dataclass(frozen=True, slots=True)
class Change:
    """One member of a layer. ``key`` is what its facts are noted under, ``link`` a hard link's target as written."""

    path: str
    kind: ChangeKind
    key: str = ""
    link: str = ""


@dataclass(slots=True)
class Changes:
    """All that a layer does; deletions come before additions, in whatever order the archive has them."""

    additions: list[Change] = field(default_factory=list)
    whiteouts: set[str] = field(default_factory=set)
    opaque: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """Anything but a folder: the layer that put it there, and the layer and key of its content."""

    layer: int
    origin: tuple[int, str]


Folder = dict[str, "Folder | Leaf"]


@dataclass(slots=True)
class Overlay:
    """The tree so far; ``most`` is how many folders it may have."""

    most: int
    root: Folder = field(default_factory=dict)
    _made: int = 0

    def apply(self, layer: int, changes: Changes) -> Iterator[tuple[str, str]]:
        """Put a layer on top; yields the path of each contradiction and what it is."""
        for path in changes.opaque:
            found = self._at(path)
            if isinstance(found, dict):
                found.clear()
        for path in changes.whiteouts:
            self._remove(path)
        for change in changes.additions:
            try:
                self._add(layer, change)
            except FormatError as error:
                yield change.path, error.message
        for path in changes.whiteouts:
            left = self._at(path)
            if isinstance(left, Leaf) and left.layer == layer:
                yield path, "a layer that both deletes and holds it"

    def leaves(self) -> Iterator[tuple[str, Leaf]]:
        """Everything that is there and no folder, with its path."""
        stack: list[tuple[str, Folder]] = [("", self.root)]
        while stack:
            prefix, folder = stack.pop()
            for name, node in folder.items():
                if isinstance(node, Leaf):
                    yield prefix + name, node
                else:
                    stack.append((f"{prefix}{name}/", node))

    def _at(self, path: str) -> Folder | Leaf | None:
        node: Folder | Leaf | None = self.root
        for part in _parts(path):
            if not isinstance(node, dict):
                return None
            node = node.get(part)
        return node

    def _remove(self, path: str) -> None:
        folder = self._at(posixpath.dirname(path))
        if isinstance(folder, dict):
            folder.pop(posixpath.basename(path), None)

    def _add(self, layer: int, change: Change) -> None:
        name = posixpath.basename(change.path)
        leaf = self._leaf(layer, change)  # before its folder is made: a broken link changes nothing
        folder = self._folder(layer, _parts(posixpath.dirname(change.path)))
        if leaf is not None:
            folder[name] = leaf
        elif name:
            self._folder_in(folder, name)

    def _leaf(self, layer: int, change: Change) -> Leaf | None:
        match change.kind:
            case ChangeKind.FOLDER:
                return None
            case ChangeKind.CONTENT:
                return Leaf(layer, (layer, change.key))
            case ChangeKind.HARD_LINK:
                target = self._at(relative(change.link.lstrip("/")))
                if not isinstance(target, Leaf):
                    raise FormatError(f"a hard link to {change.link[:200]!r}, which is not there")
                return Leaf(layer, target.origin)

    def _folder(self, layer: int, parts: Iterable[str]) -> Folder:
        """The folder of that path, made where it is not there."""
        folder = self.root
        for part in parts:
            found = folder.get(part)
            if isinstance(found, Leaf) and found.layer == layer:
                raise FormatError("it lies below a file or link of the same layer")
            folder = self._folder_in(folder, part)
        return folder

    def _folder_in(self, folder: Folder, name: str) -> Folder:
        found = folder.get(name)
        if isinstance(found, dict):
            return found
        self._made += 1
        if self._made > self.most:
            raise FormatError(f"more than {self.most} folders in an image")
        made = folder[name] = Folder()
        return made


def _parts(path: str) -> list[str]:
    return path.split("/") if path else []
