"""Aligned columns of plain text, readable in a terminal and in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def columns(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, painted: Callable[[str, int], str] | None = None
) -> list[str]:
    """One line per row under a head line; the last column is not padded.

    ``painted`` is given each padded cell below the head with its column and returns it with colour: escape sequences
    must not count as width.
    """
    widths = [max(len(row[index]) for row in (head, *rows)) for index in range(len(head) - 1)]
    lines = [_line(head, widths)]
    for row in rows:
        cells = [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]
        lines.append("  ".join(painted(cell, index) if painted else cell for index, cell in enumerate(cells)).rstrip())
    return lines


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
