"""Streams that are small enough to be held in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.binary import BufferView, FormatError, View

if TYPE_CHECKING:
    from pipeline.formats.budgets import Budgets
    from pipeline.formats.stream import Stream


def fits(content: Stream, budgets: Budgets) -> bool:
    """Whether all of it may be held."""
    limit = budgets.buffered
    return len(content.peek(limit + 1)) <= limit if content.size is None else content.size <= limit


def whole(content: View | Stream, budgets: Budgets) -> View:
    """A stream's bytes as a view; ``FormatError`` when they are more than may be held."""
    if isinstance(content, View):
        return content
    if not fits(content, budgets):
        raise FormatError(f"more than {budgets.buffered} bytes that cannot be read in one pass")
    return BufferView(b"".join(content.rest()))
