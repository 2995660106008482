"""Tells code that is absent for a GPU by design from a unit whose arch list is too short.

A container that a GPU cannot run is excused in these cases, judged library by library:

1. *Architecture-specific code beside full coverage.* Every image of the container carries ``a`` or ``f``, the library
   has general containers as well, and all of those are served on this GPU. (Kernels for ``sm_90a`` or ``sm_100f`` are
   called only after a check of the GPU.) Where a general container is missing too, or there is none, nothing shows
   that the library works without this code, and it counts.

2. *Libraries that dispatch.* NVIDIA's own libraries (known by name), and libraries that contain them statically, keep
   one container per architecture: at least three architectures and 32 containers, each for one of them, without PTX.
   There a container for another GPU is excused if some container of that kind serves this GPU. In NVIDIA's own
   libraries any container is excused under the same condition, and so is one that would be reached only through PTX
   that the driver cannot read: NVIDIA supports these libraries on every driver of their CUDA major, without PTX.

3. *Counterparts, in large libraries only.* A general container is excused where at least eight containers are specific
   to just this GPU, four for each that is missing, and at least 16 general ones are served: CUTLASS 2.x kernels for
   sm_80 and sm_89 beside those for ``sm_90a``. A library that holds nothing but specific code is excused beside other
   libraries of the artifact with at least 16 general containers, all of them served.

4. *Libraries named for an architecture.* A library whose file name names the architectures of all its images
(``_C_cutlass_90a.abi3.so``, ``libgemm_sm100.so``) is excused on other GPUs, where other device code of the artifact is
served.

Libraries that come once per CUDA version or per architecture are another matter, see ``variants``.

The bytes cannot show more: a real loss of an architecture-specific kernel looks the same. Two settings of a lane
overrule this by patterns of library names, and the report says where they did. ``never_by_design``: nothing of these
libraries is excused. ``by_design``: every container of these libraries without an image for a GPU is excused there,
as long as other device code of the artifact, NVIDIA's libraries aside, is served on it; PTX that the driver cannot
read is not. Where a library is named by both, ``never_by_design`` holds.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.model.image import EntryKind
from pipeline.rules.choice import Via
from pipeline.rules.naming import naming
from pipeline.rules.nvidia import is_toolkit_library
from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.model.paths import MemberPath
    from pipeline.rules.declaration import Declaration
    from pipeline.rules.subject import Load
    from pipeline.rules.unit import Unit

LEAST_ARCHITECTURES, LEAST_CONTAINERS = 3, 32
LARGE, LEAST_SPECIFIC, SPECIFIC_FOR_EACH = 16, 8, 4
_ARCHITECTURE = re.compile(
    r"(?<![a-z0-9])(?:sm_?(?P<prefixed>[0-9]{2,3})[af]?|(?P<suffixed>[0-9]{2,3})[af])(?![a-z0-9])",
    re.ASCII | re.IGNORECASE,
)
_ABOUT_ARCHITECTURE = ("arch-missing", "arch-suffix")


def excuse(loads: Iterable[Load], declaration: Declaration | None) -> tuple[Load, ...]:
    """The loads of one target, those marked that are absent by design."""
    libraries: dict[MemberPath, list[Load]] = {}
    for load in loads:
        libraries.setdefault(load.unit.library, []).append(load)
    judged = {library: _excuse(library, group) for library, group in libraries.items()}
    if declaration is not None:
        judged = _with_pardons(judged, declaration)
    for library in _named_for_others(judged) | _beside_large_libraries(judged):
        judged[library] = [replace(load, excused=True) for load in judged[library]]
    if declaration is not None:
        judged = {library: _counted(library, group, declaration) for library, group in judged.items()}
    return tuple(load for group in judged.values() for load in group)


def _with_pardons(judged: dict[MemberPath, list[Load]], declaration: Declaration) -> dict[MemberPath, list[Load]]:
    """``by_design``: what these libraries lack is excused where the product runs on this GPU at all."""
    own = (load for library, group in judged.items() if not is_toolkit_library(library.name) for load in group)
    if not any(load.selection.loads for load in own):
        return judged
    return {library: _pardoned(library, group, declaration) for library, group in judged.items()}


def _pardoned(library: MemberPath, loads: list[Load], declaration: Declaration) -> list[Load]:
    pattern = naming(library, declaration.by_design)
    if not pattern:
        return loads
    ruling = f"by_design: {pattern}"
    return [
        replace(load, excused=True, ruling=ruling) if _absent(load) and not load.excused else load for load in loads
    ]


def _counted(library: MemberPath, loads: list[Load], declaration: Declaration) -> list[Load]:
    """``never_by_design``: nothing of these libraries is excused."""
    pattern = naming(library, declaration.never_by_design)
    if not pattern:
        return loads
    ruling = f"never_by_design: {pattern}"
    return [replace(load, excused=False, ruling=ruling) if load.excused else load for load in loads]


def _excuse(library: MemberPath, loads: list[Load]) -> list[Load]:
    if not any(_left_out(load) for load in loads):
        return loads
    excused = _dispatched(library, loads) | _counterparts(loads)
    general = [load for load in loads if not load.unit.suffixed]
    if general and all(not _absent(load) or load.unit in excused for load in general):
        excused |= {load.unit for load in loads if load.unit.suffixed and _absent(load)}
    return [replace(load, excused=True) if load.unit in excused else load for load in loads]


def _dispatched(library: MemberPath, loads: list[Load]) -> set[Unit]:
    """Units that the library chooses between at run time, where at least one of them is there for this GPU."""
    dispatching = _dispatching(library, [load.unit for load in loads])
    mine = [load for load in loads if load.unit in dispatching]
    served = any(not _left_out(load) for load in mine)
    return {load.unit for load in mine if _left_out(load)} if served else set()


def _dispatching(library: MemberPath, units: list[Unit]) -> set[Unit]:
    if is_toolkit_library(library.name):
        return set(units)
    single = {unit for unit in units if len(_architectures(unit)) == 1 and _only_cubins(unit)}
    architectures = {number for unit in single for number in _architectures(unit)}
    many = _containers(single) >= LEAST_CONTAINERS
    return single if many and len(architectures) >= LEAST_ARCHITECTURES else set()


def _counterparts(loads: list[Load]) -> set[Unit]:
    """General units that are missing where the library has much code of its own for just this GPU."""
    missing = {load.unit for load in loads if not load.unit.suffixed and _absent(load)}
    general = _containers(load.unit for load in loads if not load.unit.suffixed and not _absent(load))
    specific = _containers(load.unit for load in loads if load.unit.suffixed and not _absent(load))
    enough = specific >= max(LEAST_SPECIFIC, SPECIFIC_FOR_EACH * _containers(missing))
    return missing if enough and general >= LARGE else set()


def _named_for_others(judged: dict[MemberPath, list[Load]]) -> frozenset[MemberPath]:
    """Libraries that their own name gives to other GPUs, beside some that serve this one."""
    named = {
        library
        for library, group in judged.items()
        if all(_absent(load) for load in group)
        and set[int]().union(*(_architectures(load.unit) for load in group)) <= _named(library)
    }
    others = (load for library, group in judged.items() if library not in named for load in group)
    served = any(load.selection.loads and not is_toolkit_library(load.unit.library.name) for load in others)
    return frozenset(named) if served else frozenset()


def _named(library: MemberPath) -> set[int]:
    """The SM numbers in a file name: ``sm90``, ``sm_100``, or with a suffix alone: ``90a``."""
    found = _ARCHITECTURE.finditer(library.name.rpartition("/")[2])
    return {int(match["prefixed"] or match["suffixed"]) for match in found}


def _beside_large_libraries(judged: dict[MemberPath, list[Load]]) -> frozenset[MemberPath]:
    """Libraries of nothing but absent specific code, where the others are large and complete."""
    only = {library for library, group in judged.items() if all(load.unit.suffixed and _absent(load) for load in group)}
    others = [
        load
        for library, group in judged.items()
        if library not in only and not is_toolkit_library(library.name)
        for load in group
        if not load.unit.suffixed and not load.unit.bare
    ]
    complete = all(load.excused or not _absent(load) for load in others)
    large = _containers(load.unit for load in others if not load.excused) >= LARGE
    return frozenset(only) if complete and large else frozenset()


def _absent(load: Load) -> bool:
    return any(obstacle.rule in _ABOUT_ARCHITECTURE for obstacle in load.selection.obstacles)


def _left_out(load: Load) -> bool:
    """Absent, or there only as PTX that cannot be compiled."""
    return _absent(load) or (load.selection.via is Via.JIT and not load.selection.loads)


def _containers(units: Iterable[Unit]) -> int:
    return sum(unit.count for unit in units)


def _architectures(unit: Unit) -> set[int]:
    return {image.arch.number for image in flat(unit.images) if image.arch is not None}


def _only_cubins(unit: Unit) -> bool:
    return all(image.kind is EntryKind.CUBIN for image in flat(unit.images))
