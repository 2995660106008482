from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pipeline.cli import run
from pipeline.matrix.schema import json_schema

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _keep_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema()


def test_the_schema_can_be_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "--output", str(tmp_path / "schema.json")]) == 0
    assert json.loads((tmp_path / "schema.json").read_text(encoding="utf-8")) == json_schema()
    assert capsys.readouterr().out == ""
