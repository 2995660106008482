"""The gate's verdict as one page: lanes by targets with their marks, then every lane with its checks and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.gate.standing import Standing
from pipeline.report.gate_view import MARKS, MEANINGS, lane_view
from pipeline.report.html_page import SEVERITIES, html_page
from pipeline.report.shown import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.gate import LaneVerdict
    from pipeline.report.gate_view import LaneView, TargetRow

MOST_COLUMNS = 40
"""More targets than that are shown by SM, each with the worst of its drivers."""

_MOST_REASONS = 10
_MOST_GROUPS = 640
_MOST_FINDINGS = 1280
"""What all lanes share, so that a page of 256 opens within a second; each has twenty at most, and two at least."""

_MOST_TARGETS = 1000
"""Where lanes have more in all, only those that do not hold are listed again below the map."""

_SHADES = {
    Standing.PROVEN: "g",
    Standing.REHEARSED: "h",
    Standing.INFERRED: "i",
    Standing.WAIVED: "w",
    Standing.MISSING: "b",
    Standing.FAILED: "b",
}
_WORST_LAST = tuple(_SHADES)
_DOUBTFUL = frozenset((Standing.WAIVED, Standing.MISSING, Standing.FAILED))


@dataclass(frozen=True, slots=True)
class KeyItem:
    """A sign of the map and what it means."""

    sign: str
    word: str
    meaning: str
    shade: str


@dataclass(frozen=True, slots=True, order=True)
class Column:
    """A target, or all of an SM; ordered as people count."""

    sm: int
    driver: tuple[int, ...]
    head: str
    below: str


@dataclass(frozen=True, slots=True)
class Numbered:
    """A lane, and its place in matrix.yaml's order, which its address has; ``holding`` targets are only counted."""

    number: int
    view: LaneView
    targets: tuple[TargetRow, ...]
    holding: int


@dataclass(frozen=True, slots=True)
class Cell:
    """What a lane is known to do on a column's target."""

    text: str
    shade: str


def gate_html(verdicts: Sequence[LaneVerdict]) -> str:
    """The page."""
    findings, groups = (_share(most, len(verdicts)) for most in (_MOST_FINDINGS, _MOST_GROUPS))
    lanes = [lane_view(verdict, most_findings=findings, most_groups=groups) for verdict in verdicts]
    columns = _columns(lanes)
    every = sum(len(lane.targets) for lane in lanes) <= _MOST_TARGETS
    ordered = [_numbered(number, lane, every=every) for number, lane in enumerate(lanes, 1)]
    refused = [lane for lane in ordered if not lane.view.approved]
    approved = len(lanes) - len(refused)
    changed = [lane for lane in ordered if lane.view.change is not None]
    values = {
        "lanes": lanes,
        "columns": columns,
        "cells": [_cells(lane, columns) for lane in lanes],
        "ordered": [*refused, *(lane for lane in ordered if lane.view.approved)],
        "reasons": refused[:_MOST_REASONS],
        "changed": changed,
        "uncompared": _uncompared(len(lanes) - len(changed), len(lanes)),
        "approved": approved,
        "refused": len(refused),
        "key": [KeyItem(MARKS[item], item.value, MEANINGS[item], _SHADES[item]) for item in MARKS],
        "marks": MARKS,
        "shades": _SHADES,
        "severities": SEVERITIES,
    }
    return html_page("gate.j2", f"Release gate: {approved} of {counted(len(lanes), 'lane')} approved", values)


def _share(most: int, lanes: int) -> int:
    return max(2, min(20, most // max(lanes, 1)))


def _numbered(number: int, lane: LaneView, *, every: bool) -> Numbered:
    listed = tuple(row for row in lane.targets if every or row.standing in _DOUBTFUL)
    return Numbered(number, lane, listed, len(lane.targets) - len(listed))


def _uncompared(number: int, lanes: int) -> str:
    if number == lanes:
        return "No lane has a comparison with the last release on record: the check diff makes one."
    return f"{counted(number, 'more lane')} without such a comparison on record." if number else ""


def _columns(lanes: Sequence[LaneView]) -> tuple[Column, ...]:
    labels = {row.label for lane in lanes for row in lane.targets}
    if len(labels) > MOST_COLUMNS:
        return tuple(sorted({Column(_sm(label), (), f"sm_{_sm(label)}", "all drivers") for label in labels}))
    return tuple(sorted(_column(label) for label in labels))


def _column(label: str) -> Column:
    _, _, driver = label.partition("@")
    return Column(_sm(label), tuple(map(int, driver.split("."))), f"sm_{_sm(label)}", driver)


def _sm(label: str) -> int:
    return int(label.partition("@")[0])


def _cells(lane: LaneView, columns: Sequence[Column]) -> tuple[Cell | None, ...]:
    by_label: dict[str, list[TargetRow]] = {}
    for row in lane.targets:
        by_label.setdefault(row.label, []).append(row)
        by_label.setdefault(f"{_sm(row.label)}@all drivers", []).append(row)
    return tuple(_cell(by_label.get(f"{column.sm}@{column.below}", [])) for column in columns)


def _cell(rows: Sequence[TargetRow]) -> Cell | None:
    if not rows:
        return None
    worst = max((row.standing for row in rows), key=_WORST_LAST.index)
    several = f" (worst of {len(rows)})" if len(rows) > 1 else ""
    return Cell(f"{MARKS[worst]} {worst.value}{several}", _SHADES[worst])
