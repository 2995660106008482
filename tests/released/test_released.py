"""The evidence about released packages is what the auditor says, and every disagreement is explained."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.policy import load_policy
from tests.released.__main__ import PAGE, RECORD, differences, main
from tests.released.audits import audited, fetched
from tests.released.corpus import PACKAGES
from tests.released.render import page

DOCUMENT: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
SMALL = ("faiss-gpu-cu12", "ctranslate2")
ASKED_FOR = {
    "bitsandbytes",
    "torch",
    "nvidia-cublas-cu12",
    "xgboost",
    "ctranslate2",
    "faiss-gpu-cu12",
    "onnxruntime-gpu",
    "vllm",
    "@node-llama-cpp/linux-x64-cuda",
}


def test_every_package_is_there() -> None:
    names = [package["package"] for package in DOCUMENT["packages"]]
    assert names == [package.name for package in PACKAGES]
    assert set(names) >= ASKED_FOR


def test_the_record_is_about_these_files_and_rows() -> None:
    policy = load_policy()
    for package, recorded in zip(PACKAGES, DOCUMENT["packages"], strict=True):
        assert (recorded["file"], recorded["sha256"]) == (package.filename, package.sha256)
        targets = [policy.parse_target(row.target).label for row in package.rows]
        assert [row["target"] for row in recorded["targets"]] == targets


def test_the_page_shows_the_record() -> None:
    before = PAGE.read_text(encoding="utf-8")
    assert page(before, DOCUMENT) == before


def test_every_disagreement_is_explained_and_nothing_else() -> None:
    rows = [row for package in DOCUMENT["packages"] for row in package["targets"]]
    assert {row["agrees"] for row in rows} == {True, False, None}
    for row in rows:
        assert (row["agrees"] is False) == bool(row["explained"]), row["target"]
        assert (row["agrees"] is None) == (not row["known"])


def test_a_changed_answer_is_a_difference() -> None:
    answers = json.loads(json.dumps(DOCUMENT["packages"]))
    assert list(differences(DOCUMENT["packages"], answers)) == []
    answers[0]["targets"][0]["verdict"] = "pass"
    answers[1]["sha256"] = "0"
    del answers[2]["targets"][0]
    told = list(differences(DOCUMENT["packages"], answers))
    assert told[0] == "bitsandbytes 52@535.54.03: verdict was fail, is pass"
    assert told[1] == "torch: not as recorded"
    assert told[2].startswith("vllm: 10 rows recorded")
    assert list(differences([], answers[:1])) == ["bitsandbytes: not as recorded"]


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_answers_as_recorded(package: Any) -> None:
    answer = audited(package, fetched(package), load_policy())
    recorded = [item for item in DOCUMENT["packages"] if item["package"] == package.name]
    assert list(differences(recorded, [answer])) == []


@pytest.mark.slow
@pytest.mark.network
def test_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for name in SMALL for word in ("--package", name)]
    assert main(words) == 0
    assert capsys.readouterr().out == "2 packages answer as recorded\n"
