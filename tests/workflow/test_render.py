"""What a matrix says is in its workflows, and nothing that GitHub would read as something else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pipeline.errors import NothingExamined, UsageError
from pipeline.resources import find_resources
from pipeline.workflow.render import Kind, Repository, render, text
from tests.matrix.files import CPU, CUDA, HEAD, mistakes_with
from tests.workflow.matrices import ACTIONS, HAS_GPU, MATRICES, PUBLISHES, rendered

if TYPE_CHECKING:
    from pathlib import Path


def jobs(folder: Path, kind: Kind, matrix: str) -> dict[str, Any]:
    return dict(yaml.safe_load(rendered(folder, kind, matrix))["jobs"])


@pytest.mark.parametrize("name", MATRICES)
def test_the_jobs_follow_from_the_matrix(tmp_path: Path, name: str) -> None:
    expected = {"plan", "build", "gate"}
    expected |= {"prove", "watch"} if name in HAS_GPU else set()
    assert set(jobs(tmp_path, Kind.NIGHTLY, MATRICES[name])) == expected
    published = expected | ({"publish"} if name in PUBLISHES else set())
    assert set(jobs(tmp_path, Kind.RELEASE, MATRICES[name])) == published
    assert set(jobs(tmp_path, Kind.PULL_REQUEST, MATRICES[name])) == {"plan", "build", "checked"}


def test_who_publishes_where_may_do_what(tmp_path: Path) -> None:
    wanted = {"cpu-to-a-directory": "read", "gpu-to-a-release": "write", "two-gpus-to-an-index": "read"}
    for name, contents in wanted.items():
        publish = jobs(tmp_path, Kind.RELEASE, MATRICES[name])["publish"]
        assert publish["permissions"] == {"contents": contents, "id-token": "write", "attestations": "write"}
        assert publish["environment"] == "release"
    release, index = (
        yaml.safe_dump(jobs(tmp_path, Kind.RELEASE, MATRICES[name])["publish"]) for name in list(wanted)[1:]
    )
    assert "github.token" in release
    assert "secrets.TWINE_PASSWORD" in index
    assert "github.token" not in index


def test_a_workflow_is_the_same_wherever_it_is_rendered(tmp_path: Path) -> None:
    """The plan names destinations from where it was read."""
    (tmp_path / "elsewhere").mkdir()
    here, there = (
        rendered(folder, Kind.RELEASE, MATRICES["cpu-to-a-directory"]) for folder in (tmp_path, tmp_path / "elsewhere")
    )
    assert here == there
    assert str(tmp_path) not in here


def test_each_lane_and_each_possible_run_has_an_output(tmp_path: Path) -> None:
    found = jobs(tmp_path, Kind.RELEASE, MATRICES["two-gpus-to-an-index"])
    assert list(found["build"]["outputs"]) == ["lane_cuda12_8_sm80", "lane_h_200"]
    assert list(found["prove"]["outputs"]) == ["prove_sm80_535_288_01", "prove_sm90_580_65_06"]


def test_lanes_that_would_share_an_output_are_refused(tmp_path: Path) -> None:
    """GitHub compares names of outputs without regard to case."""
    for other in ("a-b", "A.B"):
        lanes = ", ".join(CPU.replace("{", f'{{id: "{name}", ', 1) for name in ("a.b", other))
        with pytest.raises(UsageError, match="would share the job output"):
            rendered(tmp_path, Kind.RELEASE, f"{HEAD}matrix: {{include: [{lanes}]}}")


def test_a_gpu_that_no_runner_has_is_refused(tmp_path: Path) -> None:
    head = HEAD.replace(", runner: [self-hosted, a30]", "")
    with pytest.raises(UsageError, match="no runner is named for 80@535"):
        rendered(tmp_path, Kind.RELEASE, f"{head}matrix: {{include: [{CUDA}]}}")


@pytest.mark.parametrize("name", ['a"b', "a b", "${{ secrets.X }}", "a\\nb", "a;b", "$(id)", "-a", "a/b"])
def test_a_lane_cannot_be_called_like_code(tmp_path: Path, name: str) -> None:
    (mistake,) = mistakes_with(tmp_path, f"matrix: {{include: [{CPU.replace('{', f'{{id: {json.dumps(name)}, ', 1)}]}}")
    assert "is not a lane id" in mistake


@pytest.mark.parametrize("label", ["${{ secrets.X }}", 'a", "b', "a\\nb: c"])
def test_labels_are_data_and_never_part_of_the_text(tmp_path: Path, label: str) -> None:
    """They reach ``runs-on`` through ``fromJSON``, which evaluates nothing."""
    head = HEAD.replace("[self-hosted, a30]", json.dumps([label]))
    matrix = f"{head}matrix: {{include: [{CUDA}]}}"
    assert rendered(tmp_path, Kind.RELEASE, matrix) == rendered(tmp_path, Kind.RELEASE, MATRICES_A30)


MATRICES_A30 = f"{HEAD}matrix: {{include: [{CUDA}]}}"


@pytest.mark.parametrize("name", ["${{ secrets.X }}", "a: b", "-a", "a b", "!a"])
def test_names_of_files_are_plain(tmp_path: Path, name: str) -> None:
    matrix = MATRICES["cpu-to-a-directory"].replace("location: dist", f"location: {json.dumps(name)}")
    with pytest.raises(UsageError, match="cannot be part of a workflow"):
        rendered(tmp_path, Kind.RELEASE, matrix)


@pytest.mark.parametrize("value", ["${{ secrets.X }}", "a\nb", "a\x00"])
def test_an_expression_is_never_rendered(value: str) -> None:
    with pytest.raises(UsageError, match="cannot be part of a workflow"):
        text(value)


@pytest.mark.parametrize("value", ['a"b', "a: b # c", "'", "- x", "{a}", "[[ x ]]", "naïve 😀"])
def test_any_other_text_comes_back_from_yaml_as_it_was(value: str) -> None:
    assert yaml.safe_load(f"key: {text(value)}") == {"key": value}


def test_an_action_without_a_source_cannot_be_rendered(tmp_path: Path) -> None:
    from pipeline.matrix.load import load_plan
    from tests.matrix.files import write

    plan = load_plan(write(tmp_path, MATRICES["cpu-only"]))
    without = {name: row for name, row in ACTIONS.items() if name != "actions/checkout"}
    where = Repository("matrix.yaml", ".")
    with pytest.raises(UsageError, match="no public workflow is known that pins actions/checkout"):
        render(Kind.RELEASE, plan, (), where, actions=without, templates=find_resources().templates)


def test_a_called_gate_is_not_for_the_pull_requests_of_strangers(tmp_path: Path) -> None:
    """Its lanes and GPU runs go where matrix.yaml says, which would be the stranger's."""
    found = jobs(tmp_path, Kind.GATE, MATRICES["cpu-only"])
    first = found["plan"]["steps"][0]
    assert first["if"] == (
        "${{ github.event.pull_request && github.event.pull_request.head.repo.full_name != github.repository }}"
    )
    assert first["run"].splitlines()[-1] == "exit 1"
    assert found["build"]["needs"] == ["plan"]
    assert "if" not in found["build"]
    assert "needs.plan.result == 'success'" in found["prove"]["if"]


def test_a_pull_request_that_would_build_nothing_has_no_workflow(tmp_path: Path) -> None:
    """Its required check could never pass."""
    matrix = f"{HEAD}matrix: {{include: [{CPU.replace('}', ', on_demand: true}')}]}}"
    assert "publish" not in jobs(tmp_path, Kind.RELEASE, matrix)
    with pytest.raises(NothingExamined, match="every lane is built on demand"):
        rendered(tmp_path, Kind.PULL_REQUEST, matrix)


def test_a_caller_that_names_no_environment_publishes_nothing(tmp_path: Path) -> None:
    """As where it hands on a variable that nobody set: without one, nobody would be asked."""
    second = jobs(tmp_path, Kind.GATE, MATRICES["cpu-only"])["plan"]["steps"][1]
    assert second["if"] == "${{ inputs.publish && inputs.environment == '' }}"
    assert second["run"].splitlines()[-1] == "exit 1"
