"""Reads the CSV tables beside this file; every row names its source and date."""

from __future__ import annotations

import csv
from pathlib import Path

from pipeline.policy.unknown import InconsistentTables

FOLDER = Path(__file__).with_name("tables")

NAMES = (
    "branches",
    "toolkits",
    "assemblers",
    "architectures",
    "ptx_minimum",
    "ptx_features",
    "jit_wheels",
    "codecs",
    "cubin_abis",
    "compression",
    "entry_kinds",
    "libcuda_symbols",
    "forward_compatibility",
    "boards",
    "host_libraries",
    "optional_stacks",
    "libstdcxx",
    "manylinux",
    "cuda_sonames",
    "errors",
    "sources",
)

OTHERS = ("actions", "github_hosts", "github_limits", "hosted_runners")
"""Tables on which no verdict rests: they are no part of the digest that evidence carries, and cite addresses."""


Row = dict[str, str]
"""One row as it stands in the file: column → text."""


def read_table(name: str, folder: Path = FOLDER) -> list[Row]:
    """Rows of one table, in file order; ``InconsistentTables`` when a row is short or names no source."""
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    rows = _rows(name, lines)
    if not rows:
        raise InconsistentTables(f"policy table {name} is empty")
    first, second = ("id", "title") if name == "sources" else ("source", "date")
    for row in rows:
        if not row.get(first) or not row.get(second):
            raise InconsistentTables(f"policy table {name}: row {tuple(row.values())} lacks {first} or {second}")
    return rows


def _rows(name: str, lines: list[list[str]]) -> list[Row]:
    """The lines as rows, the first naming the columns; each must have them all. (DictReader takes twice as long.)"""
    if not lines:
        return []
    header, width = lines[0], len(lines[0])
    for line in lines:
        if len(line) != width:
            raise InconsistentTables(f"policy table {name}: row {tuple(line)} has {len(line)} of {width} columns")
    return [dict(zip(header, line, strict=True)) for line in lines[1:]]
