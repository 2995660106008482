"""Makes text fit a terminal: long lines are folded, what follows indented; digests in paths are cut as engines do."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NARROWEST = 40
_DEEPER = "  "
_DIGEST = re.compile(r"sha256:([0-9a-f]{12})[0-9a-f]{52}")


def folded(lines: Iterable[str], width: int) -> Iterator[str]:
    """The lines, each at most ``width`` columns wide; a ``width`` of 0 leaves them alone. Words are never broken."""
    for line in lines:
        if not width or len(line) <= width:
            yield line
            continue
        indent = line[: len(line) - len(line.lstrip())]
        rows = textwrap.wrap(
            line,
            max(width, _NARROWEST),
            subsequent_indent=indent + _DEEPER,
            break_long_words=False,
            break_on_hyphens=False,
        )
        # A word longer than the line, a path as a rule, stays beside what stands before it.
        yield from [line] if len(rows[0].split()) == 1 else rows


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


def short_digests(path: str) -> str:
    """A path whose layers are named by twelve digits of their digest; JSON keeps all of them."""
    return _DIGEST.sub(r"sha256:\1…", path)
