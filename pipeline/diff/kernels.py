"""Kernels before and after, where both artifacts were read for them.

``kernel-gone``: a kernel of a library is in no image of it any more, or in none for an architecture that is still
there. A group of which only some instantiations are gone is noted: template arguments come and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.audit.kernels import kernel_groups
from pipeline.diff.difference import Compared
from pipeline.diff.members import pair
from pipeline.model.finding import Finding, Severity
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.audit.kernels import KernelGroup
    from pipeline.formats.facts import Inventory
    from pipeline.model.paths import MemberPath

KERNEL_GONE = "kernel-gone"
_NOT_READ = "kernels were not read; --kernels compares them"
_MOST_NAMED = 5


def compare_kernels(old: Inventory, new: Inventory, groups: Iterable[KernelGroup]) -> Compared:
    """Every library's kernel groups, architecture by architecture; ``groups`` are those of the new one."""
    if not (old.kernels and new.kernels):
        return Compared(KERNEL_GONE, 0, (), _NOT_READ)
    before, after = _by_library(kernel_groups((old,))), _by_library(groups)
    found = tuple(
        finding for mine, theirs in pair(before, after).same for finding in _gone(theirs, before[mine], after[theirs])
    )
    return Compared(KERNEL_GONE, sum(map(len, before.values())), found, "" if before else "no kernels in OLD")


def _by_library(groups: Iterable[KernelGroup]) -> dict[MemberPath, dict[str, KernelGroup]]:
    found: dict[MemberPath, dict[str, KernelGroup]] = {}
    for group in groups:
        found.setdefault(group.library, {})[group.name] = group
    return found


def _gone(library: MemberPath, old: dict[str, KernelGroup], new: dict[str, KernelGroup]) -> Iterator[Finding]:
    archs = {arch for group in new.values() for arch, _ in group.archs}
    lost: dict[str, list[str]] = {}
    fewer: list[str] = []
    for name, group in old.items():
        now = new.get(name)
        if now is None:
            lost.setdefault("", []).append(name)
            continue
        there = dict(now.archs)
        for arch in (arch for arch, _ in group.archs if arch in archs and arch not in there):
            lost.setdefault(arch, []).append(name)
        if now.kernels < group.kernels:
            fewer.append(f"{printable(name)} ({group.kernels} → {now.kernels})")
    for arch, names in lost.items():
        shown = [printable(name) for name in names]
        yield _finding(library, Severity.ERROR, f"{_listed(shown)} is gone{f' for {arch}' if arch else ''}", len(names))
    if fewer:
        yield _finding(library, Severity.NOTE, f"fewer instantiations of {_listed(fewer)}", len(fewer))


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _finding(library: MemberPath, severity: Severity, observed: str, count: int) -> Finding:
    return Finding(
        rule=KERNEL_GONE,
        severity=severity,
        path=str(library),
        declared="every kernel of OLD is there",
        observed=observed,
        remedy="look whether anything still calls it; then allow the loss (--allow kernel-gone)",
        count=count,
    )
