"""Tells code that is absent for a GPU by design from a unit whose arch list is too short.

A container that a GPU cannot run is excused in two cases, judged library by library:

1. *Architecture-specific code beside full coverage.* Every image of the container carries ``a`` or ``f``, the library
   has general containers as well, and all of those are served on this GPU. (Kernels for ``sm_90a`` or ``sm_100f`` are
   called only after a check of the GPU.) Where a general container is missing too, or there is none, nothing shows
   that the library works without this code, and it counts.

2. *Libraries that dispatch.* NVIDIA's own libraries (known by name), and libraries that contain them statically, keep
   one container per architecture: at least three architectures and 32 containers, each for one of them, without PTX.
   There a container for another GPU is excused if some container of that kind serves this GPU. In NVIDIA's own
   libraries any container is excused under the same condition, and so is one that would be reached only through PTX
   that the driver cannot read: NVIDIA supports these libraries on every driver of their CUDA major, without PTX.

Libraries that come once per CUDA version are another matter, see ``variants``.

The bytes cannot show more: a real loss of an architecture-specific kernel looks the same. ``by_design`` and
``never_by_design`` of a declaration overrule this by library name.
"""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pipeline.formats.facts import EntryKind
from pipeline.rules.nvidia import is_toolkit_library
from pipeline.rules.selection import Via
from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.model.paths import MemberPath
    from pipeline.rules.declaration import Declaration
    from pipeline.rules.subject import Load
    from pipeline.rules.unit import Unit

LEAST_ARCHITECTURES, LEAST_CONTAINERS = 3, 32
_ABOUT_ARCHITECTURE = ("arch-missing", "arch-suffix")


def excuse(loads: Iterable[Load], declaration: Declaration | None) -> tuple[Load, ...]:
    """The loads of one target, those marked that are absent by design."""
    libraries: dict[MemberPath, list[Load]] = {}
    for load in loads:
        libraries.setdefault(load.unit.library, []).append(load)
    return tuple(load for library, group in libraries.items() for load in _excuse(library, group, declaration))


def _excuse(library: MemberPath, loads: list[Load], declaration: Declaration | None) -> Iterator[Load]:
    name = library.name.rpartition("/")[2]
    if not any(_left_out(load) for load in loads) or _listed(name, declaration, "never_by_design"):
        yield from loads
        return
    dispatching = _dispatching(name, [load.unit for load in loads], declaration)
    served = any(not _left_out(load) for load in loads if load.unit in dispatching)
    left_out = {load.unit for load in loads if load.unit in dispatching and _left_out(load)}
    excused = left_out if served else set()
    general = [load for load in loads if not load.unit.suffixed]
    covered = bool(general) and all(not _absent(load) or load.unit in excused for load in general)
    for load in loads:
        specific = load.unit.suffixed and covered and _absent(load)
        yield replace(load, excused=True) if specific or load.unit in excused else load


def _absent(load: Load) -> bool:
    return any(obstacle.rule in _ABOUT_ARCHITECTURE for obstacle in load.selection.obstacles)


def _left_out(load: Load) -> bool:
    """Absent, or there only as PTX that cannot be compiled."""
    return _absent(load) or (load.selection.via is Via.JIT and not load.selection.loads)


def _listed(name: str, declaration: Declaration | None, field: str) -> bool:
    patterns: tuple[str, ...] = getattr(declaration, field) if declaration is not None else ()
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _dispatching(name: str, units: list[Unit], declaration: Declaration | None) -> set[Unit]:
    """The units of a library that are chosen by architecture at run time."""
    if is_toolkit_library(name) or _listed(name, declaration, "by_design"):
        return set(units)
    single = {unit for unit in units if len(_architectures(unit)) == 1 and _only_cubins(unit)}
    architectures = {number for unit in single for number in _architectures(unit)}
    many = sum(unit.count for unit in single) >= LEAST_CONTAINERS
    return single if many and len(architectures) >= LEAST_ARCHITECTURES else set()


def _architectures(unit: Unit) -> set[int]:
    return {image.arch.number for image in flat(unit.images) if image.arch is not None}


def _only_cubins(unit: Unit) -> bool:
    return all(image.kind is EntryKind.CUBIN for image in flat(unit.images))
