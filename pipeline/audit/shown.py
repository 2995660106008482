"""The whole table at once: every GPU generation by every driver branch, the floors, what blocks the next lower one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.audit.aims import loads_on
from pipeline.audit.floors import minimum_driver
from pipeline.audit.kernels import kernel_groups
from pipeline.rules.choice import Via
from pipeline.rules.symbol_versions import CXXABI, GLIBC, GLIBCXX, highest_of_all
from pipeline.rules.unit import units_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.audit.kernels import KernelGroup
    from pipeline.audit.report import Floor
    from pipeline.formats.facts import Inventory
    from pipeline.model.versions import DottedVersion
    from pipeline.policy import Policy
    from pipeline.policy.rows import Branch, GpuRow
    from pipeline.rules.subject import Load
    from pipeline.rules.unit import Unit

_C_LIBRARY = "libc.so.6"
_FIRST_BRANCH = 450
"""Older branches serve no toolkit of the tables."""


class Cell(StrEnum):
    """How a bundle fares on one GPU generation with one branch's first toolkit driver."""

    NATIVE = "native"
    JIT = "jit"
    FAILS = "fails"
    UNKNOWN = "unknown"
    NOT_SERVED = "not-served"
    BY_DESIGN = "by-design"
    """Only of a library: the program does without it on this GPU."""


@dataclass(frozen=True, slots=True)
class ShownGpu:
    """One row: the GPU, its cells in the order of the branches, its floor and what blocks the next lower branch.

    ``blocked_by`` is what stands in the way on the branch below the floor, empty where the GPU begins there.
    ``loading`` of the ``judged`` containers load on the newest driver of the GPU: where not all do, no driver serves
    it, and where some do, the others were left out.
    """

    row: GpuRow
    cells: tuple[Cell, ...]
    floor: Floor
    blocked_by: str
    loading: int
    judged: int


@dataclass(frozen=True, slots=True)
class ShownLibrary:
    """One library: how it fares on each GPU generation with the newest driver that serves it."""

    path: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What is inside some artifacts, whatever is asked of it; ``kernels`` is ``None`` where they were not read.

    ``libraries`` are those with device code, in the order of their paths, each with a cell for each GPU. ``host`` are
    the highest symbol versions that host files need, by family; none where an artifact has a C library.
    """

    branches: tuple[Branch, ...]
    gpus: tuple[ShownGpu, ...]
    archs: tuple[tuple[str, int], ...]
    host: tuple[tuple[str, DottedVersion], ...]
    libraries: tuple[ShownLibrary, ...]
    kernels: tuple[KernelGroup, ...] | None = None


def show(inventories: Sequence[Inventory], policy: Policy) -> Shown:
    """Judge the artifacts' device code on every GPU generation and branch of the tables."""
    units = tuple(unit for inventory in inventories for unit in units_of(inventory).loaded)
    branches = tuple(row for row in policy.branches if row.first_driver is not None and row.number >= _FIRST_BRANCH)
    counted: dict[str, int] = {}
    for unit in units:
        for image in unit.images:
            what = f"{image.what}, {image.codec.value}" if image.codec.value != "none" else image.what
            counted[what] = counted.get(what, 0) + unit.count
    gpus = tuple(_shown(row, units, branches, policy) for row in policy.gpus) if units else ()
    listed = kernel_groups(inventories) if all(inventory.kernels for inventory in inventories) else None
    libraries = tuple(_libraries(units, branches, policy))
    return Shown(branches, gpus, tuple(counted.items()), _host(inventories), libraries, listed)


def _libraries(units: tuple[Unit, ...], branches: tuple[Branch, ...], policy: Policy) -> Iterator[ShownLibrary]:
    """Every library by itself; what another one has in its place (a build for another CUDA) is excused all the same."""
    newest = [_newest(row, units, branches, policy) for row in policy.gpus]
    for library in sorted({unit.library for unit in units}):
        mine = [tuple(load for load in loads if load.unit.library == library) for loads in newest]
        yield ShownLibrary(str(library), tuple(_cell_of_library(loads) for loads in mine))


def _cell_of_library(loads: tuple[Load, ...]) -> Cell:
    if loads and all(load.excused for load in loads):
        return Cell.BY_DESIGN
    return _cell(loads) if loads else Cell.NOT_SERVED


def _newest(row: GpuRow, units: tuple[Unit, ...], branches: tuple[Branch, ...], policy: Policy) -> tuple[Load, ...]:
    judged = (_loads(row, units, branch, policy) for branch in reversed(branches))
    return next((loads for loads in judged if loads is not None), ())


def _host(inventories: Sequence[Inventory]) -> tuple[tuple[str, DottedVersion], ...]:
    elves = [elf for inventory in inventories for elf in inventory.elves]
    if any(elf.soname == _C_LIBRARY for elf in elves):
        return ()
    found = highest_of_all(elves)
    return tuple((family, found[family]) for family in (GLIBC, GLIBCXX, CXXABI) if family in found)


def _shown(row: GpuRow, units: tuple[Unit, ...], branches: tuple[Branch, ...], policy: Policy) -> ShownGpu:
    judged = [_loads(row, units, branch, policy) for branch in branches]
    cells = tuple(Cell.NOT_SERVED if loads is None else _cell(loads) for loads in judged)
    newest = [load for load in next((loads for loads in reversed(judged) if loads is not None), ()) if not load.excused]
    return ShownGpu(
        row,
        cells,
        minimum_driver(row.gpu.number, units, None, policy),
        _blocked(judged, cells),
        loading=sum(load.unit.count for load in newest if load.selection.loads),
        judged=sum(load.unit.count for load in newest),
    )


def _loads(row: GpuRow, units: tuple[Unit, ...], branch: Branch, policy: Policy) -> tuple[Load, ...] | None:
    driver = branch.first_driver
    retired = row.last_branch is not None and branch.number > row.last_branch
    if driver is None or retired or driver < row.first_driver:
        return None
    return loads_on(units, row.gpu, driver, None, policy)


def _cell(loads: tuple[Load, ...]) -> Cell:
    asked = [load.selection for load in loads if not load.excused]
    if any(not selection.loads and not selection.doubtful for selection in asked):
        return Cell.FAILS
    if any(selection.doubtful for selection in asked):
        return Cell.UNKNOWN
    return Cell.JIT if any(selection.via is Via.JIT for selection in asked) else Cell.NATIVE


def _blocked(judged: list[tuple[Load, ...] | None], cells: tuple[Cell, ...]) -> str:
    """What fails on the branch below the first that serves; where none does, on the newest."""
    good = [place for place, cell in enumerate(cells) if cell in {Cell.NATIVE, Cell.JIT}]
    place = good[0] - 1 if good else max((i for i, loads in enumerate(judged) if loads is not None), default=-1)
    loads = judged[place] if place >= 0 else None
    for load in loads or ():
        if load.selection.obstacles and not load.excused:
            obstacle = load.selection.obstacles[0]
            return f"{obstacle.rule}: {obstacle.observed}"
    return ""
