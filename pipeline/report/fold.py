"""Folds long lines to the width of a terminal, what follows indented under what it belongs to."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NARROWEST = 40
_DEEPER = "  "


def folded(lines: Iterable[str], width: int) -> Iterator[str]:
    """The lines, each at most ``width`` columns wide; a ``width`` of 0 leaves them alone. Words are never broken."""
    for line in lines:
        if not width or len(line) <= width:
            yield line
            continue
        indent = line[: len(line) - len(line.lstrip())]
        yield from textwrap.wrap(
            line,
            max(width, _NARROWEST),
            subsequent_indent=indent + _DEEPER,
            break_long_words=False,
            break_on_hyphens=False,
        )


def paragraphs(text: str, width: int) -> Iterator[str]:
    """Running text folded anew; a ``width`` of 0 keeps its own lines."""
    if not width:
        yield text
        return
    for place, paragraph in enumerate(text.split("\n\n")):
        if place:
            yield ""
        yield textwrap.fill(
            " ".join(paragraph.split()), max(width, _NARROWEST), break_long_words=False, break_on_hyphens=False
        )
