"""Of all the situations that the release workflow can be in, only those in which nothing is wrong publish.

Judged by the publish folder, the artifacts and the words of the jobs; ``act`` says what is real and what stands in.
Each run's log, its artifacts and the job summaries stay in a folder of its own below pytest's ``--basetemp``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.digest import file_sha256
from tests.workflow_runs.execute import Outcome, Shared
from tests.workflow_runs.github import OWNER_NAME
from tests.workflow_runs.gpu import TARGET
from tests.workflow_runs.situations import GOOD, RELEASES

pytestmark = pytest.mark.network  # the wheels that one job installs
ROOT = Path(__file__).resolve().parents[2]
BAD = [name for name in RELEASES if name not in GOOD]
AT_ONCE = 2
Outcomes = dict[str, Outcome]


def names(folder: Path) -> dict[str, str]:
    return {file.name: file_sha256(file) for file in sorted(folder.iterdir())}


def evidence(outcome: Outcome) -> dict[tuple[str, str], set[str]]:
    """What the records in the artifacts say: statuses by bundle and check."""
    found: dict[tuple[str, str], set[str]] = {}
    for file in outcome.ran.artifacts.glob("*/evidence/*/*/*.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        found.setdefault((file.parts[-3], file.parts[-2]), set()).add(record["predicate"]["outcome"]["status"])
    return found


def gate_said(outcome: Outcome) -> dict[str, Any]:
    """The gate's own document, as it was uploaded."""
    said: dict[str, Any] = json.loads((outcome.ran.artifacts / "gate" / "gate.json").read_text(encoding="utf-8"))
    return said


@pytest.mark.parametrize("name", GOOD)
def test_what_is_good_is_published_byte_for_byte(name: str, outcomes: Outcomes) -> None:
    outcome, situation = outcomes[name], RELEASES[name]
    published = names(outcome.dist)
    bundles = {f"{each['id']}-1.0-linux-x86_64.tar.gz" for each in situation.lanes}
    assert {file for file in published if file.endswith(".tar.gz")} == bundles
    assert all(published[file] == file_sha256(outcome.ran.folder / "repository" / file) for file in bundles)
    attested = (outcome.ran.artifacts / "attested" / "SHA256SUMS").read_text(encoding="utf-8")
    assert set(attested.splitlines()) == {f"{published[file]}  {file}" for file in bundles}
    told = outcome.ran.said("gate") + outcome.ran.summary("gate").replace("&#64;", "@")
    assert [words for words in situation.says if words not in told] == []
    assert gate_said(outcome)["verdict"] == "approved"


@pytest.mark.parametrize("name", BAD)
def test_nothing_else_is_published_and_the_old_release_stays(name: str, outcomes: Outcomes, shared: Shared) -> None:
    outcome, situation = outcomes[name], RELEASES[name]
    assert names(outcome.dist) == names(shared.old)
    assert outcome.ran.ran("publish") == (situation.where == "publish")
    told = outcome.ran.said(situation.where) + outcome.ran.summary(situation.where).replace("&#64;", "@")
    assert [words for words in situation.says if words not in told] == []


@pytest.mark.parametrize("name", ["all good"])
def test_every_check_left_its_evidence(name: str, outcomes: Outcomes) -> None:
    published = names(outcomes[name].dist)
    good, gpu = (published[f"{lane}-1.0-linux-x86_64.tar.gz"] for lane in ("good", "gpu"))
    wanted = {good: ("build", "audit", "smoke@cpu"), gpu: ("build", "audit", f"load@{TARGET}")}
    assert evidence(outcomes[name]) == {(sha256, check): {"pass"} for sha256 in wanted for check in wanted[sha256]}


@pytest.mark.parametrize("name", ["the smoke fails"])
def test_a_failure_is_evidence_too(name: str, outcomes: Outcomes) -> None:
    said = {check: statuses for (_, check), statuses in evidence(outcomes[name]).items()}
    assert said["smoke@cpu"] == {"fail"}
    assert {lane["id"]: lane["verdict"] for lane in gate_said(outcomes[name])["lanes"]} == {
        "good": "refused",
        "gpu": "approved",
    }


@pytest.mark.parametrize("name", ["passes of another commit"])
def test_the_older_pass_was_there_and_did_not_count(name: str, outcomes: Outcomes) -> None:
    said = {check: statuses for (_, check), statuses in evidence(outcomes[name]).items()}
    assert said["smoke@cpu"] == {"fail", "pass"}


@pytest.mark.parametrize("name", ["a label that nobody serves"])
def test_the_watch_ends_a_run_that_nobody_will_serve(name: str, outcomes: Outcomes) -> None:
    """act knows no queue: it skips the job. What GitHub would say of it, a stand-in says."""
    assert "no runner with the labels self-hosted, h200 took it" in outcomes[name].ran.said("watch")
    assert f"POST /repos/{OWNER_NAME}/actions/runs/1/cancel" in outcomes[name].asked
    assert not outcomes[name].ran.ran("prove")


@pytest.mark.parametrize("name", ["all good"])
def test_one_job_has_it_from_pip_as_its_users_do(name: str, outcomes: Outcomes) -> None:
    assert "this tree instead" not in outcomes[name].ran.said("plan")
    assert "this tree instead" in outcomes[name].ran.said("gate")


@pytest.mark.parametrize("name", RELEASES)
def test_nothing_ends_in_a_traceback(name: str, outcomes: Outcomes) -> None:
    assert "Traceback" not in (outcomes[name].ran.folder / "act.log").read_text(encoding="utf-8")
