from __future__ import annotations

import math

import pytest

from pipeline.matrix.equality import AxisIndex, fits, number
from tests.matrix.files import node


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("linux", "linux"),
        ("linux", "LINUX"),
        ("'80'", "80"),
        ("80", "'80'"),
        ("true", "1"),
        ("'1'", "true"),
        ("null", "0"),
        ("''", "0"),
        ("''", "null"),
        ("0x10", "'16'"),
        ("'0x10'", "16"),
        ("' 5 '", "5"),
        ("'Infinity'", "'infinity'"),
        ("é", "É"),
        ("{a: 1}", "{a: 1, b: 2}"),
        ("{A: x}", "{a: X}"),
        ("{a: null}", "{b: 2}"),
        ("[1]", "[1, 2]"),
        ("[]", "anything"),
        ("{}", "{b: 2}"),
        ("{a: {b: [1]}}", "{a: {b: [1, 2]}}"),
    ],
)
def test_what_github_calls_equal(wanted: str, value: str) -> None:
    assert fits(node(f"- {wanted}"), node(f"- {value}"))


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("linux", "windows"),
        ("''", "'0'"),
        ("'1'", "'1.0'"),
        ("abc", "0"),
        ("'abc'", "null"),
        ("true", "2"),
        ("{a: 1}", "{a: 2}"),
        ("{a: 1}", "{b: 1}"),
        ("{a: 1}", "1"),
        ("1", "[1]"),
        ("x", "{a: x}"),
        ("[1, 2]", "[1]"),
        ("ß", "SS"),
    ],
)
def test_what_github_calls_different(wanted: str, value: str) -> None:
    assert not fits(node(f"- {wanted}"), node(f"- {value}"))


def test_text_that_is_no_number_equals_no_number() -> None:
    assert math.isnan(number("nan"))
    assert number("Infinity") == math.inf


def test_an_index_finds_what_comparing_finds() -> None:
    words = ["a", "A", "'1'", "1", "1.0", "true", "null", "''", "0", "[1]", "{a: 1}", "'0x1'", "[]"]
    values = [node(f"- {word}").items[0] for word in words]  # type: ignore[union-attr]
    index = AxisIndex(values)
    for wanted in values:
        assert list(index.fitting(wanted)) == [n for n, value in enumerate(values) if fits(wanted, value)]
