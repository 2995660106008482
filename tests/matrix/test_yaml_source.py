from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ExitStatus, UsageError
from pipeline.matrix.mistakes import MatrixMistakes
from pipeline.matrix.nodes import MapNode, plain
from pipeline.matrix.yaml_source import MAX_BYTES, parse_yaml, read_yaml, resolve

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.matrix.nodes import Node


def refusal(content: bytes) -> str:
    with pytest.raises(MatrixMistakes) as caught:
        parse_yaml(content, "matrix.yaml")
    assert caught.value.status is ExitStatus.USAGE
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


def attempt(content: bytes) -> tuple[Node | None, list[str]]:
    try:
        return parse_yaml(content, "matrix.yaml"), []
    except MatrixMistakes as error:
        return None, [str(mistake) for mistake in error.mistakes]


def test_nodes_know_their_line_and_column() -> None:
    root = parse_yaml(b"a: 1\nb:\n  - x\n  - {c: 2}\n", "matrix.yaml")
    assert plain(root) == {"a": 1, "b": ["x", {"c": 2}]}
    assert isinstance(root, MapNode)
    listing = root.entries[1]
    assert (listing.position.line, listing.position.column) == (2, 1)
    assert (listing.value.position.line, listing.value.position.column) == (3, 3)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("13.0", 13.0),
        ("'13.0'", "13.0"),
        ("12.8.1", "12.8.1"),
        ("yes", "yes"),
        ("12:30", "12:30"),
        ("true", True),
        ("~", None),
        ("0x1f", 31),
        ("0o17", 15),
        ("-7", -7),
        (".5", 0.5),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 20, 1e20),
        (".", "."),
        ("|\n  line\n", "line\n"),
    ],
)
def test_scalars_follow_the_core_schema(written: str, value: object) -> None:
    found = plain(parse_yaml(f"a: {written}".encode(), "m"))["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "matrix.yaml:1:1: the file is empty; start with 'version: 1'"),
        (b"# only a comment\n", "matrix.yaml:1:1: the file is empty"),
        (b"---\n...\n", "matrix.yaml:1:1: the file is empty"),
        (b"a: 1\nb: 2\na: 3\n", "matrix.yaml:3:1: duplicate key 'a', first on line 1; keep one of the two"),
        (b"a:\n\tb: 1\n", "matrix.yaml:2:1: a tab where YAML wants spaces; indent with spaces"),
        (b"a: 1\n\tb: 2\n", "matrix.yaml:2:1: a tab where YAML wants spaces"),
        (b"a: [1\nb: 2\n", "matrix.yaml:2:2: did not find expected ',' or ']'"),
        (b"a: 'open", "matrix.yaml:1:9: found unexpected end of stream"),
        (b"a: 1\n---\nb: 2\n", "matrix.yaml:2:1: a second YAML document"),
        (b"a: !!str 1\n", "matrix.yaml:1:4: the tag tag:yaml.org,2002:str"),
        (b"a: !x 1\n", "matrix.yaml:1:4: the tag !x"),
        (b"<<: {a: 1}\n", "matrix.yaml:1:1: the merge key '<<'"),
        (b"? [a]\n: 1\n", "matrix.yaml:1:3: a list or mapping as a key"),
        (b"a: \xff\n", "matrix.yaml:1:4: byte 0xff is not UTF-8; save the file as UTF-8"),
        (b"\xef\xbb\xbf\xc3\xa9\xff", "matrix.yaml:1:2: byte 0xff is not UTF-8"),
        (b"\xef\xbb\xbfa: \xc3\xa9\n\xff", "matrix.yaml:2:1: byte 0xff is not UTF-8"),
        (b"\xef\xbb", "matrix.yaml:1:1: byte 0xef is not UTF-8"),
        (b'a: "x\\0y"', "matrix.yaml:1:4: the character NUL"),
        (b"\xff\xfea\x00", "matrix.yaml:1:1: byte 0xff is not UTF-8"),
        (b"a: 1\nb: \x07\n", "matrix.yaml:2:4: the control character \\x07"),
        (b"a: *nowhere\n", "matrix.yaml:1:4: the alias *nowhere has no finished anchor"),
        (b"a: &a [*a]\n", "matrix.yaml:1:8: the alias *a has no finished anchor"),
        (b"[" * 40, "nested more than 32 deep"),
        (b"[" * 100_000, "matrix.yaml:1:"),
        (b"a: " + b"x" * MAX_BYTES, "matrix.yaml:1:1: the file is larger than 1024 KiB"),
    ],
)
def test_one_clear_line_for_what_cannot_be_read(content: bytes, expected: str) -> None:
    line = refusal(content)
    assert expected in line
    assert "\n" not in line


def test_every_duplicate_is_reported() -> None:
    assert len(refusal(b"a: 1\na: 2\nb: {c: 1, c: 2}\n").splitlines()) == 2


def test_an_alias_bomb_is_refused_before_it_goes_off() -> None:
    levels = [f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 12)]
    bomb = "\n".join(["k0: &k0 [x]", *levels])
    assert "more than 200000 values, aliases counted where they are used" in refusal(bomb.encode())


def test_honest_aliases_are_allowed() -> None:
    assert plain(parse_yaml(b"a: &x [1, 2]\nb: *x\n", "m")) == {"a": [1, 2], "b": [1, 2]}


def test_a_byte_order_mark_is_no_content() -> None:
    assert plain(parse_yaml(b"\xef\xbb\xbfa: 1\n", "m")) == {"a": 1}


def test_a_tab_inside_a_line_is_allowed() -> None:
    assert plain(parse_yaml(b"a: 1\t# comment\n", "m")) == {"a": 1}


def test_the_reader_without_libyaml_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    content = b"version: 1\nlist: [a, 'b', 1.5]\n"
    fast = plain(parse_yaml(content, "m"))
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert plain(parse_yaml(content, "m")) == fast
    assert "matrix.yaml:2:1: a tab where YAML wants spaces" in refusal(b"a:\n\tb: 1\n")


def test_a_file_that_cannot_be_opened_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"No such file.*--matrix FILE"):
        read_yaml(tmp_path / "absent.yaml")
    with pytest.raises(UsageError, match="Is a directory"):
        read_yaml(tmp_path)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_as_json_writes_them(number: float) -> None:
    assert resolve(repr(number)) == number


@given(st.text(alphabet="0123456789+-.eExobnafi_~:"))
def test_resolving_never_fails(text: str) -> None:
    value = resolve(text)
    assert not isinstance(value, float) or math.isfinite(value)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@,? \n\t\x01é", max_size=60))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    root, mistakes = attempt(text.encode())
    assert (root is None) == bool(mistakes)
    assert all(line.startswith("matrix.yaml:") for line in mistakes)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    _, mistakes = attempt(content)
    assert all("\n" not in line for line in mistakes)
