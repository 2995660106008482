"""The table of actions: whole commits, each with a public workflow that uses it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from pipeline.cli import run
from pipeline.policy.tables import FOLDER, NAMES, OTHERS
from pipeline.policy.unknown import InconsistentTables
from pipeline.report.plan import _HOSTED
from pipeline.workflow.actions import load_actions, load_hosted
from pipeline.workflow.render import HOSTED, HOSTED_ARM

if TYPE_CHECKING:
    from pathlib import Path


def test_each_action_is_pinned_and_cited() -> None:
    actions = load_actions()
    assert {"actions/checkout", "actions/upload-artifact", "actions/download-artifact"} <= set(actions)
    assert all(action.uses == f"{name}@{action.commit} # {action.version}" for name, action in actions.items())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("de0fac2e4500dabe0009e67214ff5f5447ce83dd", "v6"),
        ("de0fac2e4500dabe0009e67214ff5f5447ce83dd", "de0fac2e4500"),
        ("/blob/abc72a302a5ddb36569f73c2d5e1cb88e7d1eed0/", "/blob/main/"),
        ("https://github.com/zizmorcore/zizmor/blob/", "somebody said "),
        ("actions/upload-artifact,", "actions/checkout,"),
        (",2026-12-01", ","),
    ],
)
def test_a_row_that_pins_or_cites_nothing_is_refused(tmp_path: Path, old: str, new: str) -> None:
    shutil.copy(FOLDER / "actions.csv", tmp_path)
    table = tmp_path / "actions.csv"
    table.write_text(table.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InconsistentTables):
        load_actions(tmp_path)


def test_the_machines_that_jobs_ask_for_are_githubs_own() -> None:
    hosted = load_hosted()
    assert {HOSTED, HOSTED_ARM} <= hosted
    assert {label for labels in _HOSTED.values() for label in labels} <= hosted


@pytest.mark.parametrize("table", OTHERS)
def test_tables_on_which_no_verdict_rests_are_printed_too(
    table: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pin that moves must not make evidence of yesterday worthless: they are no part of the tables' digest."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert table not in NAMES
    assert run(["policy", table]) == 0
    assert "https://" in capsys.readouterr().out
