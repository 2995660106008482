"""Folders that the dynamic linker searches: RPATH and RUNPATH entries filled in, and those of ld.so.conf."""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import Inventory
    from pipeline.rules.filesystem import Tree

_TRIPLETS = ("x86_64-linux-gnu", "aarch64-linux-gnu")
_DEFAULTS = (
    *(f"/lib/{triplet}" for triplet in _TRIPLETS),
    *(f"/usr/lib/{triplet}" for triplet in _TRIPLETS),
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
)
"""Debian's, then those of the others; a machine has one of the two kinds."""

_LIB = ("lib/x86_64-linux-gnu", "lib64", "lib", "lib/aarch64-linux-gnu")
_MAIN = "etc/ld.so.conf"
_CUSTOM = "etc/ld.so.conf.d/*.conf"
_MOST_FOLDERS = 10_000


def expand(entry: str, origin: str, *, rooted: bool) -> Iterator[str]:
    """A search path entry with ``$ORIGIN`` and ``$LIB`` filled in; ``origin`` is relative to the container's root.

    Relative entries depend on the working directory, ``$PLATFORM`` on processor and glibc (``haswell`` up to 2.36,
    ``x86_64`` since): both find nothing that can be relied on.
    """
    for name in ("ORIGIN", "LIB", "PLATFORM"):
        entry = entry.replace(f"${{{name}}}", f"${name}")
    if "$PLATFORM" in entry or not entry.startswith(("/", "$ORIGIN")):
        return
    for lib in _LIB if "$LIB" in entry else ("",):
        filled = entry.replace("$LIB", lib)
        if filled.startswith("$ORIGIN"):
            prefix = f"/{origin}" if rooted else origin or "."
            yield prefix + filled.removeprefix("$ORIGIN")
        else:
            yield filled


class SystemFolders:
    """The folders of each root file system: ld.so.conf's in order, then the built-in ones; of a bundle none."""

    def __init__(self, tree: Tree, inventories: tuple[Inventory, ...]) -> None:
        self._tree = tree
        self._confs = {tree.place(str(conf.path)): conf.lines for item in inventories for conf in item.loader_confs}
        self._known: dict[str, tuple[str, ...]] = {}

    def folders(self, container: str, *, default: bool = True) -> tuple[str, ...]:
        """In the dynamic linker's order; ``default`` takes the built-in ones in."""
        if container not in self._tree.roots:
            return ()
        configured = self.configured(container)
        return (*configured, *_DEFAULTS) if default else configured

    def configured(self, container: str) -> tuple[str, ...]:
        """The folders of ld.so.conf and what it includes. Without that file, ld.so.conf.d is taken as included."""
        if container not in self._known:
            self._known[container] = tuple(dict.fromkeys(self._read(container)))
        return self._known[container]

    def _read(self, container: str) -> Iterator[str]:
        main = self._tree.place(f"{container}{_MAIN}")
        lines = self._confs.get(main, (f"include /{_CUSTOM}",))
        pending, seen = list(lines), 0
        while pending and seen < _MOST_FOLDERS:
            line, seen = pending.pop(0), seen + 1
            if not line.startswith("include "):
                yield line
                continue
            for pattern in reversed(line.split()[1:]):
                pending[:0] = self._included(container, posixpath.join("/etc", pattern).lstrip("/"))

    def _included(self, container: str, pattern: str) -> list[str]:
        places = sorted(
            (place for place in self._confs if place.container == container and fnmatchcase(place.path, pattern)),
            key=lambda place: place.path,
        )
        return [line for place in places if place.path != _MAIN for line in self._confs[place]]


def before_defaults(folders: tuple[str, ...]) -> tuple[str, ...]:
    """The folders before the first of the built-in ones."""
    return tuple(takewhile(lambda folder: folder.rstrip("/") not in _DEFAULTS, folders))
