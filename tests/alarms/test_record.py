"""The page says what the record says, every alarm is judged, and at most one pair in a hundred is not defended."""

from __future__ import annotations

import json

import pytest

from tests.alarms.__main__ import PAGE, RECORD, main
from tests.alarms.corpus import CORPUS, judged
from tests.alarms.measure import TARGETS
from tests.alarms.page import WAYS, page, undefended

PACKAGES = json.loads(RECORD.read_text(encoding="utf-8"))["packages"]


def test_the_page_is_the_record() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, PACKAGES) == text


def test_every_alarm_is_judged() -> None:
    assert list(PACKAGES) == list(CORPUS)
    for requirement, found in PACKAGES.items():
        assert judged(requirement, found) == found
        assert all(row["kind"] and row["why"] for way in WAYS for row in found[way]), requirement


@pytest.mark.parametrize("way", WAYS)
def test_at_most_one_pair_in_a_hundred_is_not_defended(way: str) -> None:
    every = sum(found["libraries"] for found in PACKAGES.values()) * len(TARGETS)
    left = sum(undefended(found, way) for found in PACKAGES.values())
    assert left * 100 <= every


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_it_is_measured_as_recorded() -> None:
    assert main([]) == 0
