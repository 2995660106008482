"""Aligned columns of plain text, readable in a terminal and in a log; too many for a terminal become blocks."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Painted = Callable[[str, int], str]

_GAP = "  "
_LEAST_LAST = 30
_NOTHING = frozenset(("", "-"))


def columns(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    painted: Painted | None = None,
    titled: Callable[[str], str] = str,
    width: int = 0,
) -> list[str]:
    """One line per row under a head line; the last column is not padded.

    With a ``width`` the last column is folded into it where that leaves it enough, and every row becomes a block of
    its own where not. ``painted`` is given each padded cell below the head with its column, ``titled`` the head line or
    a block's first, and return them with colour: escape sequences must not count as width.
    """
    paint = painted or _as_it_is
    widths = [max(len(row[index]) for row in (head, *rows)) for index in range(len(head) - 1)]
    before = sum(widths) + len(_GAP) * len(widths)
    fits = not width or all(before + len(row[-1]) <= width for row in (head, *rows))
    if not fits and width - before < _LEAST_LAST:
        return [line for row in rows for line in (titled(row[0]), *_block(head, row, paint, width))]
    lines = [titled(_line(head, widths))]
    for row in rows:
        first, *more = [row[-1]] if fits else _folded(row[-1], width - before)
        cells = [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), first]
        lines.append(_GAP.join(paint(cell, index) for index, cell in enumerate(cells)).rstrip())
        lines += [" " * before + line for line in more]
    return lines


def _as_it_is(cell: str, _: int) -> str:
    return cell


def _block(head: Sequence[str], row: Sequence[str], paint: Painted, width: int) -> Iterator[str]:
    """What stands below a row's first cell: the others that say something, each with its name."""
    widest = max(len(name) for name in head)
    for index, (name, cell) in enumerate(zip(head, row, strict=True)):
        if index and cell not in _NOTHING:
            first, *more = _folded(cell, width - widest - 2 * len(_GAP))
            yield f"{_GAP}{name:<{widest}}{_GAP}{paint(first, index)}"
            yield from (" " * (widest + 2 * len(_GAP)) + line for line in more)


def _folded(text: str, width: int) -> list[str]:
    """Lines of so many columns; a longer word stays whole, since it is a name to copy."""
    return textwrap.wrap(text, max(width, _LEAST_LAST), break_long_words=False, break_on_hyphens=False) or [""]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
