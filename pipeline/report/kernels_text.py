"""The kernel table for people: kernel groups by SM, those first that some architecture lacks."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from pipeline.model.paths import printable
from pipeline.report.columns import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.audit.kernels import KernelGroup

_MOST_ROWS = 40
_LONGEST = 72


def kernels_text(groups: Sequence[KernelGroup]) -> str:
    """A table for each library; past the limit groups that are everywhere are only counted."""
    return "\n".join(line for _, rows in groupby(groups, key=lambda row: row.library) for line in _library([*rows]))


def _library(groups: list[KernelGroup]) -> Iterator[str]:
    archs = list(dict.fromkeys(arch for group in groups for arch, _ in group.archs))
    partial = [group for group in groups if not _everywhere(group, archs)]
    whole = [group for group in groups if _everywhere(group, archs)]
    yield f"{groups[0].library}: {sum(group.kernels for group in groups)} kernels in {len(groups)} groups"
    shown = [*partial, *whole][:_MOST_ROWS]
    head = [*archs, "regs", "shared", "kernel"]
    yield from columns(head, [_row(group, archs) for group in shown])
    left = len(groups) - len(shown)
    if left:
        rest = f", {len(partial) - len(shown)} of them not everywhere" if len(partial) > len(shown) else ""
        yield f"… and {left} more groups{rest} (--format json has all)"
    yield ""


def _everywhere(group: KernelGroup, archs: list[str]) -> bool:
    return group.complete and len(group.archs) == len(archs)


def _row(group: KernelGroup, archs: list[str]) -> list[str]:
    counts = dict(group.archs)
    name = printable(group.name)
    return [
        *(str(counts[arch]) if arch in counts else "-" for arch in archs),
        "" if group.registers is None else str(group.registers),
        str(group.static_shared),
        name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…",
    ]
