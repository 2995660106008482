"""``show`` for people: one line per GPU generation, one column per driver branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.audit.shown import Cell
from pipeline.report.fold import folded
from pipeline.report.kernels_text import kernels_text
from pipeline.rules.nvidia import is_toolkit_library

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.audit.shown import Shown, ShownGpu

_LETTERS = {
    Cell.NATIVE: "C",
    Cell.JIT: "J",
    Cell.FAILS: "-",
    Cell.UNKNOWN: "?",
    Cell.NOT_SERVED: " ",
    Cell.BY_DESIGN: ".",
}
_NEWEST = "on the newest driver"
_CELL = 4  # columns of one SM, its gap with it
_LEAST_BESIDE = 4
_MOST_IMAGES = 24
_MOST_LIBRARIES = 40
_LEGEND = (
    "C cubin, J compiled from PTX by the driver, - does not load, ? unknown, blank: driver and GPU never meet. "
    "A column holds for its driver branch and all up to the next column."
)


def show_text(shown: Shown, *, width: int = 0) -> str:
    """Lines for a terminal of that width or, with 0, for a log; GPUs that nothing serves are told in one line."""
    return "\n".join(_lines(shown, width)) + "\n"


def _lines(shown: Shown, width: int) -> Iterator[str]:
    yield from (f"{count:>6} x {what}" for what, count in shown.archs[:_MOST_IMAGES])
    if len(shown.archs) > _MOST_IMAGES:
        yield f"       … and {len(shown.archs) - _MOST_IMAGES} other kinds of image (--format json has all)"
    yield from _device(shown, width) if shown.gpus else ("no device code",)
    if shown.host:
        needs = ", ".join(f"{family}_{version}" for family, version in shown.host)
        yield f"host files need {needs}"
    if shown.kernels:
        yield from ("", kernels_text(shown.kernels, width=width))


def _device(shown: Shown, width: int) -> Iterator[str]:
    served = [gpu for gpu in shown.gpus if gpu.floor.driver or Cell.UNKNOWN in gpu.cells]
    yield ""
    yield from _table(shown, served)
    yield from folded([_LEGEND], width)
    yield ""
    yield from folded(_blocks(served), width)
    yield from folded(_unserved([gpu for gpu in shown.gpus if gpu not in served]), width)
    yield from _coverage(shown, width)


def _coverage(shown: Shown, width: int) -> Iterator[str]:
    """The table library by SM, where the product's own libraries differ: what runs without one of them may not with.

    What is wider than a terminal goes on below, with the next SMs.
    """
    own = [library for library in shown.libraries if not is_toolkit_library(library.path)]
    places = [
        place for place in range(len(shown.gpus)) if {library.cells[place] for library in own} & {Cell.NATIVE, Cell.JIT}
    ]
    if all(
        len({library.cells[place] for library in own} & {Cell.NATIVE, Cell.JIT, Cell.FAILS}) < 2 for place in places
    ):
        return
    names = [library.path.rpartition("!/")[2].rpartition("/")[2] for library in own]
    rows = sorted(zip(names, own, strict=True), key=lambda row: row[0])[:_MOST_LIBRARIES]
    widest = max(len(_NEWEST), *(len(name) for name, _ in rows))
    beside = max((width - widest) // _CELL, _LEAST_BESIDE) if width else len(places)
    for start in range(0, len(places), beside):
        band = places[start : start + beside]
        yield ""
        yield f"{_NEWEST:<{widest}} " + " ".join(f"{shown.gpus[place].row.gpu.number:>3}" for place in band)
        for name, library in rows:
            yield f"{name:<{widest}} " + " ".join(f"{_LETTERS[library.cells[place]]:>3}" for place in band)
    if len(own) > _MOST_LIBRARIES:
        yield f"{len(own) - _MOST_LIBRARIES} more libraries (--format json has all)"
    yield ". the program does without it there"


def _table(shown: Shown, served: list[ShownGpu]) -> Iterator[str]:
    """A row for each GPU; branches on which every GPU fares alike share a column."""
    columns = list(zip(*(gpu.cells for gpu in served), strict=True))
    places = [place for place in range(len(columns)) if not place or columns[place] != columns[place - 1]]
    if places:
        yield "SM      " + " ".join(f"{shown.branches[place].number:>3}" for place in places) + "  lowest driver"
    for gpu in served:
        cells = " ".join(f"{_LETTERS[gpu.cells[place]]:>3}" for place in places)
        yield f"sm_{gpu.row.gpu.number:<4} {cells}  {gpu.floor.driver or gpu.floor.reason}"


def _unserved(gpus: list[ShownGpu]) -> Iterator[str]:
    """GPUs that only a part of the containers serves, alike ones together, then those that nothing serves."""
    alike: dict[tuple[int, int, str], list[ShownGpu]] = {}
    for gpu in gpus:
        alike.setdefault((gpu.loading, gpu.judged, gpu.blocked_by.partition(":")[0]), []).append(gpu)
    nothing: list[ShownGpu] = []
    for (loading, judged, _), group in alike.items():
        if loading:
            yield f"{_names(group)}: {judged - loading} of {judged} fatbins load on no driver: {group[0].blocked_by}"
        else:
            nothing += group
    if nothing:
        yield f"not served by any driver: {_names(nothing)}"


def _names(gpus: list[ShownGpu]) -> str:
    return ", ".join(str(gpu.row.gpu) for gpu in gpus)


def _blocks(served: list[ShownGpu]) -> Iterator[str]:
    """What stands below each floor, told once for all GPUs that it stops."""
    stopped: dict[tuple[str, str], list[ShownGpu]] = {}
    for gpu in served:
        if gpu.blocked_by:
            rule = gpu.blocked_by.partition(":")[0]
            stopped.setdefault((gpu.floor.driver or "any driver", rule), []).append(gpu)
    for (floor, _), gpus in stopped.items():
        yield f"below {floor} ({_names(gpus)}): {gpus[0].blocked_by}"
