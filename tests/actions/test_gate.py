"""The workflow that other repositories call: rendered, fresh, safe by its form, and the same for any matrix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import yaml

from pipeline.workflow.actions import load_known
from pipeline.workflow.safety import violations
from tests.scaffold.repositories import LLAMA, ROOT, cubingate, lint, repository

if TYPE_CHECKING:
    from pathlib import Path

GATE = ROOT / ".github/workflows/gate.yml"


def test_it_is_what_the_templates_give_for_any_matrix(tmp_path: Path) -> None:
    folder = repository(tmp_path, CMakeLists__txt=LLAMA)
    assert cubingate(folder, "init").returncode == 0
    assert cubingate(folder, "workflow", "--kind", "gate").stdout == GATE.read_text(encoding="utf-8")
    assert cubingate(ROOT, "workflow", "--kind", "gate", "--check").returncode == 0


def test_it_has_every_property_of_a_workflow_here() -> None:
    assert violations(GATE.read_text(encoding="utf-8"), load_known()) == ()
    lint(ROOT)


def test_no_script_has_an_expression_and_every_input_is_used() -> None:
    text = GATE.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    scripts = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert scripts
    assert not [script for script in scripts if "${{" in script]
    for name in workflow[True]["workflow_call"]["inputs"]:
        assert f"inputs.{name}" in text
    for name in workflow[True]["workflow_call"]["secrets"]:
        assert f"secrets.{name}" in text


def test_a_caller_may_keep_the_publishing_to_itself() -> None:
    jobs = yaml.safe_load(GATE.read_text(encoding="utf-8"))["jobs"]
    assert jobs["publish"]["if"].endswith("&& needs.gate.result == 'success' && inputs.publish }}")
    assert jobs["publish"]["environment"] == "${{ inputs.environment }}"


def test_a_slot_for_each_job_that_github_starts() -> None:
    jobs = yaml.safe_load(GATE.read_text(encoding="utf-8"))["jobs"]
    for name in ("build", "prove"):
        assert list(jobs[name]["outputs"]) == [f"slot_{number}" for number in range(256)]


@pytest.mark.parametrize("kind", ["cpp", "wheel", "audit"])
def test_what_init_writes_has_the_same_properties_but_for_a_cited_cubingate(kind: str, tmp_path: Path) -> None:
    assert cubingate(tmp_path, "init", "--kind", kind).returncode == 0
    for file in (tmp_path / ".github/workflows").iterdir():
        found = violations(file.read_text(encoding="utf-8"), load_known())
        assert {each.what.partition(": ")[2].partition("/")[0] for each in found} == {"no source for OWNER"}


def test_the_caller_grants_what_the_jobs_ask_for(tmp_path: Path) -> None:
    """A called workflow that asks for more than its caller has does not start at all."""
    assert cubingate(tmp_path, "init", "--kind", "cpp").returncode == 0
    caller = yaml.safe_load((tmp_path / ".github/workflows/release.yml").read_text())["jobs"]["gate"]
    rank = {"read": 1, "write": 2}
    for job in yaml.safe_load(GATE.read_text(encoding="utf-8"))["jobs"].values():
        for name, level in job["permissions"].items():
            assert rank[caller["permissions"].get(name, "")] >= rank[level], name
    inputs = yaml.safe_load(GATE.read_text(encoding="utf-8"))[True]["workflow_call"]["inputs"]
    assert set(caller["with"]) <= set(inputs)


def test_the_page_says_what_it_takes() -> None:
    page = (ROOT / "docs/action.md").read_text(encoding="utf-8")
    called = yaml.safe_load(GATE.read_text(encoding="utf-8"))[True]["workflow_call"]
    for name in (*called["inputs"], *called["secrets"]):
        assert re.search(rf"`{name}`", page), name
