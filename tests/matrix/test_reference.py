from __future__ import annotations

from pathlib import Path

from pipeline.matrix.lint import LINTS
from tests.matrix.reference import tables

PAGE = (Path(__file__).resolve().parents[2] / "docs/matrix.md").read_text(encoding="utf-8")


def test_the_page_has_every_key_as_the_schema_describes_it() -> None:
    """``python -m tests.matrix.reference`` prints what belongs there."""
    lines = PAGE.splitlines()
    assert [line for line in tables() if line not in lines] == []


def test_the_page_has_every_lint() -> None:
    assert [each.rule for each in LINTS if f"| `{each.rule}` |" not in PAGE] == []
