"""Tests of ``pipeline.record``: what its classes do is what the standard library's do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, ClassVar

import pytest

from pipeline import record


@record.dataclass(frozen=True, slots=True, order=True)
class Point:
    x: int
    y: int = 2
    seen: tuple[str, ...] = record.field(default=(), compare=False, repr=False)
    kind: ClassVar[str] = "point"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class StandardPoint:
    x: int
    y: int = 2
    seen: tuple[str, ...] = dataclasses.field(default=(), compare=False, repr=False)
    kind: ClassVar[str] = "point"


@record.dataclass(frozen=True, slots=True)
class Deep(Point):
    z: int = 3


@record.dataclass(slots=True)
class Ledger:
    name: str
    rows: list[int] = record.field(default_factory=list)
    total: int = record.field(init=False)
    log: dict[str, int] = record.field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.total = sum(self.rows)


@record.dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    one: int
    two: int = 2


@record.dataclass(frozen=True, slots=True, eq=False)
class Unlike:
    value: int


@record.dataclass(frozen=True, slots=True)
class Worded:
    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Worded) and self.text.lower() == other.text.lower()

    def __hash__(self) -> int:
        return hash(self.text.lower())


def told(kind: Any) -> tuple[object, ...]:
    one, two, three = kind(1), kind(x=1, y=3), kind(1, 2, ("a",))
    comparisons = (one == three, one == two, one != two, one < two, one <= three, two > one, one >= two, one == 1)
    text = repr(two).replace(kind.__name__, "")
    return comparisons, hash(one), hash(two), text, kind.__match_args__, kind.__slots__, kind.kind


def test_values_compare_hash_and_read_as_the_standard_ones() -> None:
    assert told(Point) == told(StandardPoint)
    other: object = StandardPoint(1)
    assert Point(1) != other
    with pytest.raises(TypeError):
        assert Point(1) < 1  # type: ignore[operator]


def test_frozen_ones_refuse_changes() -> None:
    for point in (Point(1), Deep(1)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            point.x = 2  # type: ignore[misc]
        with pytest.raises(dataclasses.FrozenInstanceError):
            del point.x
        with pytest.raises(dataclasses.FrozenInstanceError):
            point.other = 2  # type: ignore[attr-defined]


def test_arguments_that_are_missing_unknown_or_too_many_are_refused() -> None:
    kind: Any = Point
    for wrong in (kind, lambda: Point(1, z=1), lambda: Point(1, 2, (), 4), lambda: Named(1)):  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            wrong()
    assert Named(one=1) == Named(one=1, two=2)
    assert Named.__match_args__ == ()


def test_each_gets_its_own_of_what_a_factory_makes() -> None:
    one, two = Ledger("a"), Ledger("b", [1, 2])
    one.rows.append(5)
    one.log["x"] = 1
    assert (two.rows, two.total, two.log, Ledger("c").rows) == ([1, 2], 3, {}, [])
    assert repr(two) == "Ledger(name='b', rows=[1, 2], total=3)"
    two.name = "a"
    with pytest.raises(AttributeError):
        two.other = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        hash(two)


def test_a_subclass_has_its_bases_fields_first() -> None:
    deep = Deep(1, 2, (), 4)
    assert (deep.x, deep.z, repr(deep)) == (1, 4, "Deep(x=1, y=2, z=4)")
    point: object = Point(1)
    assert Deep(1) != point
    kind: Any = Deep
    assert kind.__slots__ == ("z",)


def test_methods_that_the_class_has_stay() -> None:
    assert Worded("A") == Worded("a")
    assert len({Worded("A"), Worded("a")}) == 1
    assert Unlike(1) != Unlike(1)
    assert len({Unlike(1), Unlike(1)}) == 2


def test_copies_and_pickles_are_equal() -> None:
    for value in (Point(1, seen=("a",)), Deep(1), Ledger("a", [1]), Named(one=1)):
        assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 - our own bytes
        assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(Point(1, seen=("a",)))).seen == ("a",)  # noqa: S301


def test_replacing_makes_another() -> None:
    assert record.replace(Point(1), y=5) == Point(1, 5) == dataclasses.replace(Point(1), y=5)
    assert record.replace(Ledger("a", [1]), rows=[2]).total == 2
    with pytest.raises(ValueError, match="total"):
        record.replace(Ledger("a"), total=3)
    with pytest.raises(TypeError):
        record.replace(Point(1), z=5)  # type: ignore[call-arg]


def test_the_standard_library_knows_them() -> None:
    assert dataclasses.is_dataclass(Point)
    assert [each.name for each in dataclasses.fields(Deep)] == ["x", "y", "seen", "z"]
    assert dataclasses.asdict(Named(one=1)) == {"one": 1, "two": 2}


def test_a_match_reads_the_fields() -> None:
    match Point(1, 5):
        case Point(1, y):
            assert y == 5
        case _:
            pytest.fail("no match")
