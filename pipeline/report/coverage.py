"""Which kernel groups a library has for which architecture, for pages: what is not everywhere comes first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pipeline.report.recorded import count, inside, part, rows, text
from pipeline.report.shown import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pipeline.audit.kernels import KernelGroup

MOST_ARCHS = 16


@dataclass(frozen=True, slots=True)
class Held:
    """A group of kernels in one library, and how many of them the images for each architecture have."""

    library: str
    group: str
    kernels: int
    archs: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class CoverageCell:
    """What a library has of a group for one architecture, in words, and the class of its colour."""

    text: str
    shade: str


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """One group, architecture by architecture."""

    group: str
    cells: tuple[CoverageCell, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """One library: ``whole`` groups are there for all of ``archs``; ``left_out`` counts rows that are not shown."""

    library: str
    archs: tuple[str, ...]
    groups: int
    kernels: int
    whole: int
    rows: tuple[CoverageRow, ...]
    left_out: int
    archs_left_out: int

    @property
    def sentence(self) -> str:
        """How much of it is there for all."""
        archs = ", ".join(self.archs)
        more = f" and {counted(self.archs_left_out, 'more architecture')}" if self.archs_left_out else ""
        whole = "all" if self.whole == self.groups else str(self.whole)
        groups = f"{counted(self.kernels, 'kernel')} in {counted(self.groups, 'group')}"
        return f"{groups}, {whole} of them for each of {archs}{more}"


def of_report(groups: Iterable[KernelGroup]) -> tuple[Held, ...]:
    """The groups of an audit."""
    return tuple(Held(str(group.library), group.name, group.kernels, group.archs) for group in groups)


def of_document(document: Mapping[str, Any]) -> tuple[Held, ...]:
    """The groups that an audit or a comparison has on record."""
    return tuple(
        Held(text(row, "library"), text(row, "group"), count(row, "kernels"), tuple(_counts(part(row, "archs"))))
        for row in rows(part(document, "kernels"), "groups")
    )


def coverage(groups: Iterable[Held], *, most: int, partial_only: bool) -> tuple[Coverage, ...]:
    """Each library's table, of at most ``most`` rows; ``partial_only`` leaves groups out that are there for all."""
    alike = groupby(groups, key=lambda group: group.library)
    return tuple(_library(library, tuple(held), most, partial_only=partial_only) for library, held in alike)


def _counts(archs: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    yield from ((arch, count(archs, arch)) for arch in archs)


def _library(library: str, groups: tuple[Held, ...], most: int, *, partial_only: bool) -> Coverage:
    archs = tuple(dict.fromkeys(arch for group in groups for arch, _ in group.archs))
    partial = [group for group in groups if not _whole(group, archs)]
    shown = partial if partial_only else [*partial, *(group for group in groups if _whole(group, archs))]
    return Coverage(
        library=inside(library),
        archs=archs[:MOST_ARCHS],
        groups=len(groups),
        kernels=sum(group.kernels for group in groups),
        whole=len(groups) - len(partial),
        rows=tuple(_row(group, archs[:MOST_ARCHS]) for group in shown[:most]),
        left_out=len(shown[most:]),
        archs_left_out=len(archs[MOST_ARCHS:]),
    )


def _whole(group: Held, archs: tuple[str, ...]) -> bool:
    there = dict(group.archs)
    return all(there.get(arch) == group.kernels for arch in archs)


def _row(group: Held, archs: tuple[str, ...]) -> CoverageRow:
    there = dict(group.archs)
    return CoverageRow(group.group, tuple(_cell(there.get(arch, 0), group.kernels) for arch in archs))


def _cell(there: int, kernels: int) -> CoverageCell:
    if there >= kernels:
        return CoverageCell(f"✓ all {there}" if there > 1 else "✓ yes", "g")
    return CoverageCell(f"◐ {there} of {kernels}", "w") if there else CoverageCell("✕ none", "w")
