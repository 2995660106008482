"""The page says what the record says, every finding is judged, and the corpus is large enough to mean something."""

from __future__ import annotations

import json

import pytest

from tests.coverage.__main__ import PAGE, RECORD, main
from tests.coverage.corpus import CORPUS, judged
from tests.coverage.page import page

PACKAGES = json.loads(RECORD.read_text(encoding="utf-8"))["packages"]


def test_the_page_is_the_record() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, PACKAGES) == text


def test_everything_found_is_judged_and_nothing_else_is_recorded() -> None:
    assert list(PACKAGES) == list(CORPUS)
    for requirement, found in PACKAGES.items():
        assert judged(requirement, found) == found
        assert all(row["judgement"] for row in [*found["parts"], *found["kernels"]]), requirement


def test_twenty_libraries_at_least() -> None:
    assert sum(found["libraries"] for found in PACKAGES.values()) >= 20


@pytest.mark.network
@pytest.mark.slow
def test_it_is_measured_as_recorded() -> None:
    assert main([]) == 0
