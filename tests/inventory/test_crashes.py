"""Inputs that once ended the program or held it up, kept so that they never do again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pipeline.formats.budgets import Budgets
from pipeline.inventory import take_inventory

CRASHES = sorted((Path(__file__).parents[2] / "fuzz" / "crashes").iterdir())


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: path.name)
@pytest.mark.parametrize("budgets", [Budgets(), Budgets(buffered=500)], ids=["held", "streamed"])
@pytest.mark.parametrize("deep", [False, True], ids=["headers", "deep"])
def test_old_crashes(path: Path, budgets: Budgets, deep: bool) -> None:
    start = time.monotonic()
    inventory = take_inventory(path, deep=deep, budgets=budgets)
    assert inventory.files or inventory.damage
    assert time.monotonic() - start < 5
