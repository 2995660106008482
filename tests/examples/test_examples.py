"""Each example runs as its README says, on stand-ins with the faults of real products, each beside its healthy twin."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.matrix.lint import lint
from pipeline.matrix.load import load_plan
from pipeline.policy import load_policy
from tests.examples.standins import EXAMPLES, STAND_INS, commands_of, cubingate, prepare

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: prepare(name, tmp_path_factory.mktemp("examples")) for name in STAND_INS}


def audited(place: Path, *words: str) -> dict[str, Any]:
    done = cubingate(["audit", *words, "--matrix", "matrix.yaml", "--format", "json"], place)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def errors(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for item in document["findings"] if item["severity"] == "error"]


def test_every_example_is_here() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.is_dir()} == set(STAND_INS)


@pytest.mark.parametrize("name", STAND_INS)
def test_its_readme_runs(places: dict[str, Path], name: str) -> None:
    commands = commands_of(places[name] / "README.md")
    assert len(commands) >= 3
    for words, status in commands:
        done = cubingate(words, places[name])
        assert done.returncode == status, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", STAND_INS)
def test_its_plan_has_nothing_against_it(name: str) -> None:
    policy = load_policy()
    plan = load_plan(EXAMPLES / name / "matrix.yaml", policy=policy)
    assert [lane.id for lane in plan.lanes] == ["before", "after"]
    assert [finding for finding in lint(plan, policy) if finding.severity == "error"] == []


def test_the_scan_hole_of_a_p100_is_in_the_runtime_and_nowhere_else(places: dict[str, Path]) -> None:
    found = audited(places["mlc-llm"], "dist/mlc-llm-before.tar.gz", "--lane", "before")
    assert {row["sm"]: row["verdict"] for row in found["targets"]} == {
        "60": "fail",
        "61": "fail",
        "70": "pass",
        "75": "pass",
        "80": "pass",
    }
    assert {item["rule"] for item in errors(found)} == {"arch-missing"}
    assert all("libtvm.so" in item["path"] for item in errors(found))
    assert {"60-real" in item["remedy"] or "61-real" in item["remedy"] for item in errors(found)} == {True}
    named = cubingate(
        ["audit", "dist/mlc-llm-before.tar.gz", "--matrix", "matrix.yaml", "--lane", "before", "--kernels"],
        places["mlc-llm"],
    )
    assert "thrust_inclusive_scan" in named.stdout
    healed = audited(places["mlc-llm"], "dist/mlc-llm-after.tar.gz", "--lane", "after")
    assert {row["verdict"] for row in healed["targets"]} == {"pass"}


def test_one_program_with_the_wrong_codec_fails_the_mesh(places: dict[str, Path]) -> None:
    found = audited(places["mesh-llm"], "dist/mesh-llm-before.tar.gz", "--lane", "before")
    assert {row["verdict"] for row in found["targets"]} == {"fail"}
    codec = [item for item in errors(found) if item["rule"] == "fatbin-codec"]
    assert codec
    assert all("rpc-server" in item["path"] for item in codec)
    assert "speed" in codec[0]["remedy"]
    healed = audited(places["mesh-llm"], "dist/mesh-llm-after.tar.gz", "--lane", "after")
    assert {row["verdict"] for row in healed["targets"]} == {"pass"}


def test_a_torch_of_another_cuda_than_the_compiler_is_found_in_the_lock_file(places: dict[str, Path]) -> None:
    words = ["--target", "75@580", "--format", "json"]
    done = cubingate(["audit", "requirements-before.lock", *words], places["freetoken-like"])
    (mixed,) = [item for item in errors(json.loads(done.stdout)) if item["rule"] == "toolkit-mix"]
    assert "nvidia-cuda-nvcc-cu12 12.6.85" in mixed["observed"]
    assert "torch 2.14.1" in mixed["declared"]
    assert "CUDA 13" in mixed["remedy"]


def test_each_pascal_construct_is_found_in_its_line_with_its_remedy(places: dict[str, Path]) -> None:
    found = audited(places["freetoken-like"], "--lane", "before")
    assert {row["sm"]: row["verdict"] for row in found["targets"]} == {"61": "fail", "75": "fail", "80": "pass"}
    features = {item["path"]: item for item in errors(found) if item["rule"] == "jit-feature"}
    assert set(features) == {
        "before/grid_constant.cu:6",
        "before/no_allocate.cu:4",
        "before/scoped.cu:4",
        "before/tanh.cu:5",
        "before/total.py:11",
    }
    assert all(item["targets"] == ["61@535.288.01"] for item in features.values())
    assert "#if __CUDA_ARCH__ >= 750" in features["before/tanh.cu:5"]["remedy"]
    tiles = [item for item in errors(found) if item["rule"] == "dynamic-shared-memory"]
    assert sorted(target for item in tiles for target in item["targets"]) == ["61@535.288.01", "75@535.288.01"]
    healed = audited(places["freetoken-like"], "--lane", "after")
    assert {row["verdict"] for row in healed["targets"]} == {"pass"}
