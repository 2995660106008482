from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.matrix import equality
from pipeline.matrix.equality import fits
from pipeline.matrix.expand import expand
from pipeline.matrix.nodes import ListNode, MapNode, Node, ScalarNode, plain
from pipeline.matrix.rows import MatrixNode
from pipeline.model.lane import Position
from tests.matrix.files import node

if TYPE_CHECKING:
    import pytest

Axes = dict[str, list[Node]]
HERE = Position("m", 1, 1)


def entries(found: Node) -> dict[str, Node]:
    assert isinstance(found, MapNode)
    return {entry.key: entry.value for entry in found.entries}


def items(found: Node | None) -> list[Node]:
    return list(found.items) if isinstance(found, ListNode) else []


def expanded(text: str) -> list[dict[str, Any]]:
    parts = entries(node(text))
    exclude = [entries(item) for item in items(parts.pop("exclude", None))]
    include = [entries(item) for item in items(parts.pop("include", None))]
    axes = {name: items(values) for name, values in parts.items()}
    return [{name: plain(value) for name, value in row.items()} for row in expand(axes, exclude, include)]


def test_the_product_is_in_the_order_of_declaration() -> None:
    rows = expanded("{arch: [x64, x86], os: [linux, windows]}")
    assert [f"{row['arch']} {row['os']}" for row in rows] == ["x64 linux", "x64 windows", "x86 linux", "x86 windows"]
    assert list(rows[0]) == ["arch", "os"]


def test_the_example_of_githubs_documentation() -> None:
    """https://docs.github.com/en/actions/how-tos/write-workflows/choose-what-workflows-do/run-job-variations."""
    assert expanded("""
fruit: [apple, pear]
animal: [cat, dog]
include:
  - color: green
  - color: pink
    animal: cat
  - fruit: apple
    shape: circle
  - fruit: banana
  - fruit: banana
    animal: cat
""") == [
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]


def test_exclude_takes_partial_matches_and_comes_before_include() -> None:
    rows = expanded("""
os: [macos, windows]
version: [12, 14]
exclude:
  - {os: macos}
  - {os: windows, version: 12}
include:
  - {os: macos, version: 14, back: true}
  - {os: windows, extra: 1}
""")
    assert rows == [
        {"os": "windows", "version": 14, "extra": 1},
        {"os": "macos", "version": 14, "back": True},
    ]


def test_an_include_that_adds_nothing_makes_no_second_row() -> None:
    assert expanded("{a: [1, 2], include: [{a: 1}]}") == [{"a": 1}, {"a": 2}]


def test_an_include_without_axes_joins_every_row_and_is_a_row_where_none_is_left() -> None:
    assert expanded("{a: [1], include: [{x: 1}]}") == [{"a": 1, "x": 1}]
    assert expanded("{a: [1], exclude: [{a: 1}], include: [{x: 1}]}") == [{"x": 1}]


def test_a_matrix_of_only_include_is_a_list() -> None:
    assert expanded("{include: [{a: 1}, {a: 1}, {b: 2}]}") == [{"a": 1}, {"a": 1}, {"b": 2}]
    assert expanded("{}") == []


def test_matching_is_against_original_values() -> None:
    rows = expanded("{a: [1], include: [{a: 1, b: 1}, {b: 2, c: 3}]}")
    assert rows == [{"a": 1, "b": 2, "c": 3}]


def test_parts_of_structured_values_match() -> None:
    rows = expanded("""
bundle: [{name: a, version: 1}, {name: b, version: 1}]
exclude: [{bundle: {name: a}}]
""")
    assert rows == [{"bundle": {"name": "b", "version": 1}}]


def naive(axes: Axes, exclude: list[dict[str, Node]], include: list[dict[str, Node]]) -> list[dict[str, Node]]:
    """GitHub's documentation, word for word, every entry compared with every combination."""
    original = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())] if axes else []
    kept = [row for row in original if not any(all(fits(f[k], row[k]) for k in f) for f in exclude)]
    added: list[dict[str, Node]] = [{} for _ in kept]
    alone = []
    for entry in include:
        fitting = [n for n, row in enumerate(kept) if all(fits(v, row[k]) for k, v in entry.items() if k in axes)]
        for n in fitting:
            added[n].update({k: v for k, v in entry.items() if k not in axes})
        if not fitting:
            alone.append(entry)
    return [{**row, **more} for row, more in zip(kept, added, strict=True)] + alone


scalars = st.sampled_from(["a", "A", "b", "1", "", 1, 0, 2.0, True, False, None]).map(
    lambda value: ScalarNode(HERE, value, str(value))
)
values: st.SearchStrategy[Node] = st.one_of(
    scalars, st.lists(scalars, max_size=2).map(lambda them: ListNode(HERE, tuple(them)))
)
names = st.sampled_from(["p", "q", "r"])


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Axes, list[dict[str, Node]], list[dict[str, Node]]]:
    axes = draw(st.dictionaries(names, st.lists(values, min_size=1, max_size=4), max_size=3))
    known = st.sampled_from(sorted(axes)) if axes else st.nothing()
    exclude = draw(st.lists(st.dictionaries(known, values, min_size=1), max_size=4)) if axes else []
    keys = st.sampled_from([*axes, "x", "y"])
    include = draw(st.lists(st.dictionaries(keys, values, min_size=1), max_size=5))
    return axes, exclude, include


@settings(deadline=None, max_examples=400)
@given(matrices())
def test_the_indexed_expansion_equals_the_naive_one(
    matrix: tuple[Axes, list[dict[str, Node]], list[dict[str, Node]]],
) -> None:
    assert list(expand(*matrix)) == naive(*matrix)


def test_scalars_are_looked_up_and_not_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(equality, "fits", lambda *both: compared.append(both))
    many = [f"v{n}" for n in range(100)]
    filters = "".join(f"\n  - {{source: {a}, recipe: {b}}}" for a in many[:50] for b in many[:50])
    matrix = MatrixNode.of(node(f"source: {many}\nrecipe: {many}\nexclude:{filters}\ninclude:{filters}"))
    rows = list(matrix.combinations())
    assert len(rows) == 7500 + 2500
    assert compared == []
