"""The grid of released wheels is what the data file says, and every difference is explained."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.policy import load_policy
from tests.released.documented import SUBJECTS
from tests.released.grid import CELLS, PAGE, RECORD, answered, counts, differences, judged, recorded
from tests.released.grid_page import page

PACKAGES = recorded()
PAIRS = list(zip(SUBJECTS, PACKAGES, strict=True))
ASKED_FOR = {
    "torch",
    "xformers",
    "bitsandbytes",
    "vllm",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "flashinfer-cubin",
    "sgl-kernel",
    "jax-cuda12-plugin",
}


def test_every_package_and_cell_is_there() -> None:
    assert {package["package"] for package in PACKAGES} == ASKED_FOR
    assert [package["version"] for package in PACKAGES if package["package"] == "torch"] == ["2.8.0", "2.14.1"]
    for subject, package in PAIRS:
        assert (package["file"], package["sha256"]) == (subject.package.filename, subject.package.sha256)
        assert [(cell["sm"], cell["driver"]) for cell in package["cells"]] == list(CELLS)


def test_the_record_says_of_each_cell_what_the_data_file_says() -> None:
    for subject, package in PAIRS:
        assert (package["by_design"], package["remark"]) == (list(subject.by_design), subject.remark)
        for cell in package["cells"]:
            said = judged(subject, cell["sm"], cell["driver"], cell["verdict"])
            assert {key: cell[key] for key in said} == said, (package["file"], cell["sm"], cell["driver"])


def test_every_difference_is_explained_and_nothing_else() -> None:
    for package in PACKAGES:
        for cell in package["cells"]:
            assert (cell["agrees"] is False) == bool(cell["explained"]), (package["file"], cell)
            assert (cell["agrees"] is None) == (not cell["documented"])
            assert all(said["version"] for said in cell["documented"])


def test_each_explanation_is_used_and_what_is_by_design_passes_when_declared() -> None:
    for subject, package in PAIRS:
        for why in subject.explanations:
            cells = [it for it in package["cells"] if it["sm"] in why.sms and it["driver"] in why.drivers]
            assert cells
            assert all(cell["agrees"] is False for cell in cells), (package["file"], why)
            assert all((cell["declared"] == "pass") == why.declared for cell in cells), (package["file"], why)


def test_the_page_and_the_counts_are_the_records() -> None:
    document: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    assert document["counts"] == counts(PACKAGES)
    assert sum(document["counts"].values()) == len(SUBJECTS) * len(CELLS) == 240
    assert PAGE.read_text(encoding="utf-8") == page(document)


def test_a_changed_answer_is_a_difference() -> None:
    now = json.loads(json.dumps(PACKAGES[0]))
    assert list(differences(PACKAGES[0], now)) == []
    now["cells"][0]["verdict"] = "pass"
    assert list(differences(PACKAGES[0], now)) == [f"{now['file']} 60@535: verdict was fail, is pass"]
    assert judged(SUBJECTS[0], "60", "535", "pass")["agrees"] is False
    assert list(differences(None, now)) == [f"{now['file']}: not as recorded"]


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.package.filename)
def test_every_package_answers_as_recorded(subject: Any) -> None:
    before = [package for package in PACKAGES if package["file"] == subject.package.filename]
    assert list(differences(before[0], answered(subject, load_policy()))) == []
