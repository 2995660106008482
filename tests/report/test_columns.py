"""Columns fit the terminal: the last is folded, and where that leaves it nothing a row becomes a block."""

from __future__ import annotations

from pipeline.report.columns import columns

HEAD = ("lane", "verdict", "why")
ROWS = (("cuda12.8-sm80", "REFUSED", "smoke@80@535.288.01: no evidence; load@80@535.288.01: " + "because " * 9),)


def painted(cell: str, column: int) -> str:
    return f"<{cell}>" if column == 1 else cell


def test_without_a_width_a_row_is_a_line() -> None:
    assert columns(HEAD, (*ROWS, ("cpu", "PASS", "")), painted=painted) == [
        "lane           verdict  why",
        f"cuda12.8-sm80  <REFUSED>  {ROWS[0][2]}".rstrip(),
        "cpu            <PASS   >",
    ]


def test_the_last_column_is_folded_below_itself() -> None:
    lines = columns(HEAD, ROWS, painted=painted, width=80)
    assert lines[1] == "cuda12.8-sm80  <REFUSED>  smoke@80@535.288.01: no evidence; load@80@535.288.01:"
    assert lines[2].startswith(" " * 24 + "because because")
    assert max(map(len, columns(HEAD, ROWS, width=80))) <= 80


def test_where_it_does_not_fit_a_row_is_a_block() -> None:
    rows = (("one", "80-real;86-real;90-real;100-real;120-real", "-", "x" * 60), ("two", "", ">= 525", "a b"))
    lines = columns(("lane", "archs", "driver", "targets"), rows, titled=str.upper, width=80)
    assert lines == [
        "ONE",
        "  archs    80-real;86-real;90-real;100-real;120-real",
        f"  targets  {'x' * 60}",
        "TWO",
        "  driver   >= 525",
        "  targets  a b",
    ]


def test_a_long_word_stays_whole_to_be_copied() -> None:
    (_, _, line) = columns(("lane", "why"), (("a", "y " + "x" * 100),), width=40)
    assert line.strip() == "x" * 100
