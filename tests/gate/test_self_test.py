"""The self-test passes on this gate, and fails on a gate that lost any of its scruples."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipeline.cli import run
from pipeline.gate import judging as gate
from pipeline.gate.self_test import run_self_test
from pipeline.gate.standing import Standing
from pipeline.gate.terms import Terms
from tests.values import POLICY, TERMS

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def wrong(folder: Path) -> set[str]:
    cases = run_self_test(folder, POLICY, TERMS.tables, now=TERMS.now)
    return {case.name for case in cases if not case.right}


def test_this_gate_judges_every_case_rightly(tmp_path: Path) -> None:
    cases = run_self_test(tmp_path, POLICY, TERMS.tables, now=TERMS.now)
    assert [case.name for case in cases if not case.right] == []
    assert {case.expected for case in cases} == {True, False}
    assert all(case.reason for case in cases if not case.approved and case.name != "a lane that requires nothing")


def test_a_gate_that_does_not_care_where_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_seen_elsewhere", lambda *_: None)
    assert wrong(tmp_path) == {
        "a GPU check on the CPU",
        "a newer driver branch",
        "another SM",
        "another instruction set",
    }


def test_a_gate_that_takes_any_evidence_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terms, "objection", lambda *_: None)
    assert "unsigned evidence where a signature is required" in wrong(tmp_path)


def test_a_gate_that_forgets_the_promise_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "scope_of", lambda *_: "")
    assert "complete evidence" in wrong(tmp_path)


def test_a_gate_that_says_yes_to_all_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def agreeable(*arguments: Any) -> Any:
        return replace(honest(*arguments), standing=Standing.PROVEN)

    honest = gate._stand
    monkeypatch.setattr(gate, "_stand", agreeable)
    assert "no evidence" in wrong(tmp_path)


def test_the_command_prints_cases_and_answers_by_status(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert run(["gate", "--self-test", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["verdict"]) == ("gate-self-test", "pass")
    monkeypatch.setattr(gate, "_seen_elsewhere", lambda *_: None)
    assert run(["gate", "--self-test"]) == 1
    assert "4 judged wrongly" in capsys.readouterr().out
