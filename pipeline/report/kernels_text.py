"""The kernel table for people: kernel groups by SM, those first that some architecture lacks."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from pipeline.model.paths import printable
from pipeline.report.columns import columns
from pipeline.report.fold import folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.audit.kernels import KernelGroup

_MOST_ROWS = 40
_LONGEST = 72


def kernels_text(groups: Sequence[KernelGroup], *, width: int = 0) -> str:
    """A table for each library; past the limit groups that are everywhere are only counted.

    Where a terminal of ``width`` has no room for the table each group has a line, and tells what it lacks below.
    """
    return "\n".join(
        line for _, rows in groupby(groups, key=lambda row: row.library) for line in _library([*rows], width)
    )


def _library(groups: list[KernelGroup], width: int) -> Iterator[str]:
    archs = list(dict.fromkeys(arch for group in groups for arch, _ in group.archs))
    partial = [group for group in groups if not _everywhere(group, archs)]
    whole = [group for group in groups if _everywhere(group, archs)]
    yield f"{groups[0].library}: {sum(group.kernels for group in groups)} kernels in {len(groups)} groups"
    shown = [*partial, *whole][:_MOST_ROWS]
    head = [*archs, "regs", "shared", "kernel"]
    table = columns(head, [_row(group, archs) for group in shown])
    fits = not width or max(map(len, table)) <= width
    yield from table if fits else folded(_lines(shown, archs), width)
    left = len(groups) - len(shown)
    if left:
        rest = f", {len(partial) - len(shown)} of them not everywhere" if len(partial) > len(shown) else ""
        yield f"… and {left} more groups{rest} (--format json has all)"
    yield ""


def _lines(groups: list[KernelGroup], archs: list[str]) -> Iterator[str]:
    yield f"for {', '.join(archs)}:"
    for group in groups:
        registers = "" if group.registers is None else f"{group.registers} registers, "
        yield f"{group.kernels:>6} x {_name(group)}  ({registers}{group.static_shared} bytes shared)"
        counts = dict(group.archs)
        lacks = [f"{arch} {counts.get(arch, 'none')}" for arch in archs if counts.get(arch) != group.kernels]
        if lacks:
            yield f"         but {', '.join(lacks)}"


def _name(group: KernelGroup) -> str:
    name = printable(group.name)
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"


def _everywhere(group: KernelGroup, archs: list[str]) -> bool:
    return group.complete and len(group.archs) == len(archs)


def _row(group: KernelGroup, archs: list[str]) -> list[str]:
    counts = dict(group.archs)
    return [
        *(str(counts[arch]) if arch in counts else "-" for arch in archs),
        "" if group.registers is None else str(group.registers),
        str(group.static_shared),
        _name(group),
    ]
