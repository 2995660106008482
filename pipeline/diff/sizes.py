"""Sizes before and after. ``size-grown``: the artifact is more than a tenth larger; never a loss, only a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.diff.difference import Compared, SizePair
from pipeline.diff.members import inside, pair
from pipeline.model.finding import Finding, Severity
from pipeline.model.paths import MemberPath

if TYPE_CHECKING:
    from pipeline.formats.facts import Inventory

SIZE_GROWN = "size-grown"
_TENTH = 10
_SEPARATOR = "!/"


def size_pairs(old: Inventory, new: Inventory) -> tuple[SizePair, ...]:
    """Members whose size changed, those that changed most first."""
    before, after = _sizes(old), _sizes(new)
    pairs = pair(before, after)
    rows = [SizePair(inside(theirs), before[mine], after[theirs]) for mine, theirs in pairs.same]
    rows += [SizePair(inside(member), before[member], 0) for member in pairs.gone]
    rows += [SizePair(inside(member), 0, after[member]) for member in pairs.added]
    return tuple(sorted((row for row in rows if row.old != row.new), key=lambda row: -abs(row.new - row.old)))


def _sizes(inventory: Inventory) -> dict[MemberPath, int]:
    return {MemberPath(tuple(path.split(_SEPARATOR))): size for path, size in inventory.files.items()}


def compare_sizes(old: Inventory, new: Inventory, sizes: tuple[SizePair, ...]) -> Compared:
    """A warning where the artifact grew by more than a tenth, naming the members that did."""
    if new.size * _TENTH <= old.size * (_TENTH + 1):
        return Compared(SIZE_GROWN, 1)
    grown = [row for row in sizes if row.new > row.old and row.path][:3]
    most = ", ".join(f"{row.path} {row.old} → {row.new}" for row in grown)
    finding = Finding(
        rule=SIZE_GROWN,
        severity=Severity.WARNING,
        path=new.root,
        declared=f"{old.size} bytes",
        observed=f"{new.size} bytes{f'; most of it: {most}' if most else ''}",
        remedy="look at the members that grew; device code grows with the arch list and without compression",
    )
    return Compared(SIZE_GROWN, 1, (finding,))
