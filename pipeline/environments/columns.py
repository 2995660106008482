"""Thousands of like facts as columns of JSON: read back by the interpreter's own loops, equal values made once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Json = Any
T = TypeVar("T")


def column(values: Sequence[Json]) -> Json:
    """A column of plain values; one that never changes is said once."""
    first = values[0] if values else None
    return (
        {"all": first}
        if values and all(value == first and type(value) is type(first) for value in values)
        else [*values]
    )


def plain(packed: Json, count: int) -> Iterable[Json]:
    """Read ``column`` back; ``ValueError`` when it has another length."""
    if isinstance(packed, dict):
        return [packed["all"]] * count
    if not isinstance(packed, list) or len(packed) != count:
        raise ValueError("a column of another length")
    return packed


def coded(values: Sequence[T], write: Callable[[T], Json]) -> Json:
    """A column of values that repeat: each different one is written once."""
    places: dict[T, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return {"values": [write(value) for value in places], "codes": column(codes)}


def decoded(packed: Json, count: int, read: Callable[[Json], T]) -> Iterator[T]:
    """Read ``coded`` back; equal values are the same object. ``IndexError`` or ``ValueError`` when it is none."""
    table = [read(value) for value in packed["values"]]
    return map(table.__getitem__, plain(packed["codes"], count))
