"""GitHub's Markdown out of foreign text: what is escaped, and how much of it a job summary takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.report.shown import isolated, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_BYTES = 1_000_000
"""GitHub drops a step's summary over 1 MiB whole (https://docs.github.com/en/actions/reference/limits); the rest is
for what the step wrote before."""

_SIGNS = re.compile(r"[\\`*_\[\]#|~$]")
_ADDRESS = re.compile(r"://|www\.", re.IGNORECASE)
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"})


def plain(text: str, most: int = 400) -> str:
    """``text`` as it is written: no markup, no HTML, no link, no mention, no end of a table's cell."""
    escaped = _SIGNS.sub(r"\\\g<0>", shown(text, most)).translate(_ENTITIES)
    return isolated(_ADDRESS.sub(lambda found: f"&#{ord(found[0][0])};{found[0][1:]}", escaped))


def row(cells: Iterable[str]) -> str:
    """One row of a table, of cells that are Markdown already."""
    return f"| {' | '.join(cells)} |"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [row(head), row("---" for _ in head), *(row(cells) for cells in rows), ""]


def details(summary: str, lines: Iterable[str]) -> str:
    """Something folded, in one piece; ``summary`` is text, not Markdown."""
    title = isolated(shown(summary, 400).translate(_ENTITIES))
    return "\n".join([f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""])


def within(pieces: Sequence[str], most: int = MOST_BYTES, *, holds: str = "a job summary holds 1 MiB") -> str:
    """The pieces that fit, then how many did not: a text that is too large would not be taken at all."""
    kept: list[str] = []
    left = most - 200
    for piece in pieces:
        left -= len(piece.encode("utf-8")) + 1
        if left < 0:
            break
        kept.append(piece)
    if len(kept) < len(pieces):
        kept += ["", f"**{len(pieces) - len(kept)} more lines or sections left out** ({holds})."]
    return "\n".join(kept) + "\n"
