"""Holds measurements against the policy tables: every cell that a tool can answer, and nothing that none can."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.model.versions import ToolkitVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.policy.tables import Row
    from tests.regenerate.measure import Measurement

NOTHING = "nothing"
# Where one tool is wrong: (toolkit, architecture) → the lowest PTX version that its ptxas accepts all the same.
# PTX ISA 9.0 introduces sm_88 (LLVM pull request 156857 says so too), and every ptxas from 13.1 on insists on it.
_ODD_MINIMUM = {("13.0", "88"): "7.3"}
_FIRST_NEW_ABI = 100  # from sm_100 on, a column of its own
Tables = dict[str, list["Row"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a table: the row by its first columns, what it states, and what a tool answered.

    ``row`` is the row's place in the table, ``None`` where the table has no such row. ``source`` is the id in
    sources.csv that stands for the tool. ``known_oddity`` is an answer of this tool that is known to be wrong.
    """

    table: str
    row: int | None
    key: str
    column: str
    stated: str
    measured: str
    tool: str
    source: str
    known_oddity: str = ""

    @property
    def oddity(self) -> bool:
        """Whether the tool gave the wrong answer that it is known for."""
        return bool(self.known_oddity) and self.measured == self.known_oddity

    @property
    def agrees(self) -> bool:
        """Whether table and tool say the same, known oddities aside."""
        return self.stated == self.measured or self.oddity

    def __str__(self) -> str:
        return f"{self.table}.csv, {self.key}: {self.column} is {self.stated!r}, {self.tool} says {self.measured!r}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """All cells that were asked about, and the rows of these tables about which no tool was asked."""

    cells: tuple[Cell, ...]
    unasked: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def differences(self) -> tuple[Cell, ...]:
        """The cells on which table and tool disagree."""
        return tuple(cell for cell in self.cells if not cell.agrees)


def compare(measurements: Iterable[Measurement], tables: Tables) -> Comparison:
    """Every cell that these measurements answer."""
    cells = tuple(cell for measured in measurements for cell in _cells(measured, tables))
    return comparison(cells, tables)


def comparison(cells: tuple[Cell, ...], tables: Tables) -> Comparison:
    """The cells with the rows of their tables that none of them is about."""
    unasked: dict[str, tuple[str, ...]] = {}
    for table in sorted({cell.table for cell in cells}):
        asked = {cell.row for cell in cells if cell.table == table}
        left = (next(iter(row.values())) for place, row in enumerate(tables[table]) if place not in asked)
        unasked[table] = tuple(dict.fromkeys(left))
    return Comparison(cells, unasked)


def _cells(measured: Measurement, tables: Tables) -> Iterator[Cell]:
    yield from _toolkit_cells(measured, tables["toolkits"])
    yield from _minimum_cells(measured, tables["ptx_minimum"])
    yield from _codec_cells(measured, tables["compression"])


def _toolkit_cells(measured: Measurement, rows: list[Row]) -> Iterator[Cell]:
    place = {row["toolkit"]: place for place, row in enumerate(rows)}.get(measured.toolkit)
    answers = {
        "ptx": (measured.ptx, "ptxas", "m-ptxas"),
        "archs": (" ".join(measured.archs), "ptxas", "m-ptxas"),
        "abi_up_to_90": (_abi(measured, new=False), "ptxas", "m-cubin"),
        "abi_from_100": (_abi(measured, new=True), "ptxas", "m-cubin"),
    }
    if measured.concat is not None:
        answers["concat"] = ("yes" if measured.concat else "no", "fatbinary", "m-fatbin")
    for column, (answer, tool, source) in answers.items():
        yield Cell(
            table="toolkits",
            row=place,
            key=measured.toolkit,
            column=column,
            stated=rows[place][column] if place is not None else NOTHING,
            measured=answer,
            tool=f"{tool} {measured.toolkit}",
            source=source,
        )


def _abi(measured: Measurement, *, new: bool) -> str:
    """The ABI version of all architectures on one side of sm_100; several where the tools do not write one."""
    number = {arch: int(arch.rstrip("af")) for arch in measured.archs}
    found = {abi for arch, abi in measured.abi.items() if (number[arch] >= _FIRST_NEW_ABI) is new}
    return " ".join(str(abi) for abi in sorted(found))


def _minimum_cells(measured: Measurement, rows: list[Row]) -> Iterator[Cell]:
    places = {row["arch"]: place for place, row in enumerate(rows)}
    for arch, version in measured.minimum.items():
        place = places.get(arch)
        yield Cell(
            table="ptx_minimum",
            row=place,
            key=arch,
            column="ptx",
            stated=rows[place]["ptx"] if place is not None else NOTHING,
            measured=version,
            tool=f"ptxas {measured.toolkit}",
            source="m-ptxas",
            known_oddity=_ODD_MINIMUM.get((measured.toolkit, arch), ""),
        )


def _codec_cells(measured: Measurement, rows: list[Row]) -> Iterator[Cell]:
    """What is stated for each packer of the toolkit, and what it does that nothing is stated about."""
    toolkit = ToolkitVersion(measured.toolkit)
    mine = {
        (row["mode"], row["kind"]): place
        for place, row in enumerate(rows)
        if ToolkitVersion(row["first_toolkit"]) <= toolkit <= ToolkitVersion(row["last_toolkit"])
    }
    for packer in dict.fromkeys(packer for packer, _, _ in measured.codecs):
        answers = {(mode, kind): codec for (by, mode, kind), codec in measured.codecs.items() if by == packer}
        for mode, kind in dict.fromkeys((*mine, *answers)):
            place = mine.get((mode, kind))
            yield Cell(
                table="compression",
                row=place,
                key=f"{measured.toolkit} {mode} {kind}",
                column="codec",
                stated=rows[place]["codec"] if place is not None else NOTHING,
                measured=answers.get((mode, kind), NOTHING),
                tool=f"{packer} {measured.toolkit}",
                source="m-fatbin",
            )
