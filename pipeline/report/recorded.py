"""Reads documents on record for pages: they are data of others, so that what is of another shape is simply not told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LARGEST = 1 << 62  # what no size, count or time is


def part(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object of that name; an empty one where there is none."""
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def rows(document: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    """The objects of the list of that name."""
    value = document.get(key)
    yield from (row for row in value if isinstance(row, dict)) if isinstance(value, list) else ()


def text(row: Mapping[str, Any], key: str) -> str:
    """The text of that name; an empty one where there is none."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def count(row: Mapping[str, Any], key: str) -> int:
    """The whole number of that name; 0 where there is none, or one below."""
    value = row.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST else 0


def inside(path: str) -> str:
    """A member's path from its artifact's name on: in which folder of which machine that lay is nobody's business."""
    artifact, separator, member = path.partition("!/")
    return f"{artifact.rpartition('/')[2]}{separator}{member}"


def seconds(row: Mapping[str, Any], key: str) -> float | None:
    """The time of that name; ``None`` where none was taken."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LARGEST:
        return None
    return float(value)
