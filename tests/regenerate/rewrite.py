"""Puts what real tools said into the tables; whatever takes more than a cell is left to a person, and told."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipeline.policy.tables import Row
    from tests.regenerate.compare import Cell, Comparison, Tables


def rewrite(done: Comparison, tables: Tables, folder: Path, date: str) -> tuple[list[Cell], list[str]]:
    """Write every table that changes; the cells that were written, and in words what was not.

    A cell is written where every tool that was asked about it says the same. A missing row is added only to
    ptx_minimum.csv, which no other column needs; ``date`` (ISO) goes into each row that changes.
    """
    written: list[Cell] = []
    left: list[str] = []
    answers: dict[tuple[str, int | None, str, str], list[Cell]] = {}
    for cell in done.cells:
        answers.setdefault((cell.table, cell.row, cell.key if cell.row is None else "", cell.column), []).append(cell)
    for cells in answers.values():
        differing = [cell for cell in cells if not cell.agrees]
        if not differing:
            continue
        if len({cell.measured for cell in cells if not cell.oddity}) > 1:
            left += [f"{cell} (other tools say otherwise: split or correct the row)" for cell in differing]
        elif _put(differing[0], tables[differing[0].table], date):
            written.append(differing[0])
        else:
            left.append(f"{differing[0]} (the row has columns that no tool tells: add it)")
    for table in sorted({cell.table for cell in written}):
        _save(tables[table], folder / f"{table}.csv")
    return written, left


def _put(cell: Cell, rows: list[Row], date: str) -> bool:
    if cell.row is not None:
        row = rows[cell.row]
        sources = dict.fromkeys((*row["source"].split(), cell.source))
        row |= {cell.column: cell.measured, "source": " ".join(sources), "date": date}
        if "confidence" in row:
            row["confidence"] = "measured"
        return True
    if cell.table != "ptx_minimum":
        return False
    rows.append({"arch": cell.key, "ptx": cell.measured, "source": cell.source, "date": date})
    return True


def _save(rows: Iterable[Row], path: Path) -> None:
    rows = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
