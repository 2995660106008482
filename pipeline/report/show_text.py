"""``show`` for people: one line per GPU generation, one column per driver branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.audit.shown import Cell
from pipeline.report.fold import folded
from pipeline.report.kernels_text import kernels_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.audit.shown import Shown, ShownGpu

_LETTERS = {Cell.NATIVE: "C", Cell.JIT: "J", Cell.FAILS: "-", Cell.UNKNOWN: "?", Cell.NOT_SERVED: " "}
_MOST_IMAGES = 24
_LEGEND = "C cubin, J compiled from PTX by the driver, - does not load, ? unknown, blank: driver and GPU never meet"


def show_text(shown: Shown, *, width: int = 0) -> str:
    """Lines for a terminal of that width or, with 0, for a log; GPUs that nothing serves are told in one line."""
    return "\n".join(_lines(shown, width)) + "\n"


def _lines(shown: Shown, width: int) -> Iterator[str]:
    yield from (f"{count:>6} x {what}" for what, count in shown.archs[:_MOST_IMAGES])
    if len(shown.archs) > _MOST_IMAGES:
        yield f"       … and {len(shown.archs) - _MOST_IMAGES} other kinds of image (--format json has all)"
    if not shown.gpus:
        yield "no device code"
        return
    yield ""
    yield "SM      " + " ".join(f"{branch.number:>3}" for branch in shown.branches) + "  lowest driver"
    served = [gpu for gpu in shown.gpus if gpu.floor.driver or Cell.UNKNOWN in gpu.cells]
    for gpu in served:
        cells = " ".join(f"{_LETTERS[cell]:>3}" for cell in gpu.cells)
        yield f"sm_{gpu.row.gpu.number:<4} {cells}  {gpu.floor.driver or gpu.floor.reason}"
    others = [str(gpu.row.gpu) for gpu in shown.gpus if gpu not in served]
    if others:
        yield from folded([f"not served by any driver: {', '.join(others)}"], width)
    yield from folded([_LEGEND], width)
    yield ""
    yield from folded(_blocks(served), width)
    if shown.kernels:
        yield ""
        yield kernels_text(shown.kernels)


def _blocks(served: list[ShownGpu]) -> Iterator[str]:
    """What stands below each floor, told once for all GPUs that it stops."""
    stopped: dict[tuple[str, str], list[ShownGpu]] = {}
    for gpu in served:
        if gpu.blocked_by:
            rule = gpu.blocked_by.partition(":")[0]
            stopped.setdefault((gpu.floor.driver or "any driver", rule), []).append(gpu)
    for (floor, _), gpus in stopped.items():
        names = ", ".join(str(gpu.row.gpu) for gpu in gpus)
        yield f"below {floor} ({names}): {gpus[0].blocked_by}"
