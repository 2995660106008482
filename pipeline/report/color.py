"""Whether a stream gets colour: ``NO_COLOR`` beats ``FORCE_COLOR`` beats being a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping

_CODES = {"green": "32", "red": "31", "yellow": "33", "bold": "1", "dim": "2"}


def wants_color(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Follow https://no-color.org and https://force-color.org, then ask the stream."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return stream.isatty()


def is_interactive(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether something that redraws itself may be shown: a terminal that is not a CI log."""
    return stream.isatty() and not environment.get("CI") and environment.get("TERM") != "dumb"


def paint(text: str, style: str, *, color: bool) -> str:
    """``text`` in ``style`` (green, red, yellow, bold, dim) where colour is wanted."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if color else text
