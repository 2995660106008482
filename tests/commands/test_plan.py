from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.cli import run
from tests.matrix.files import CPU, CUDA, HEAD, write

ROOT = Path(__file__).resolve().parents[2]
REAL = str(ROOT / "matrix.yaml")
BOMB = "\n".join(["k0: &k0 [x]", *(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 12))])


@pytest.fixture(autouse=True)
def _keep_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)


def test_the_matrix_of_this_repository_lints_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--matrix", REAL, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == []
    assert len(document["lanes"]) == 4


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_lint_clean(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--matrix", str(path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_local_and_workflow_plans_have_the_same_lanes(capsys: pytest.CaptureFixture[str]) -> None:
    run(["plan", "--matrix", REAL, "--format", "json"])
    local = [lane["id"] for lane in json.loads(capsys.readouterr().out)["lanes"]]
    run(["plan", "--matrix", REAL, "--format", "github"])
    assert [row["id"] for row in json.loads(capsys.readouterr().out)["include"]] == local


def test_lanes_can_be_selected(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--matrix", REAL, "--lane", "cpu-bookworm"]) == 0
    assert "1 lane from" in capsys.readouterr().out
    assert run(["plan", "--matrix", REAL, "--lane", "cpu-bokworm"]) == 2
    assert "has no lane 'cpu-bokworm' (it has cpu-bookworm)" in capsys.readouterr().err


def test_an_error_of_a_lint_is_status_2_and_a_warning_is_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warned = write(tmp_path, f"{HEAD}matrix: {{include: [{CUDA.replace('80-real', '80-real;120-real')}]}}")
    assert run(["plan", "--matrix", str(warned)]) == 0
    assert "warning: " in capsys.readouterr().out
    wrong = write(tmp_path, f"{HEAD}matrix: {{include: [{CUDA.replace('speed', 'size')}]}}")
    assert run(["plan", "--matrix", str(wrong), "--format", "json"]) == 2
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["rule"] == "fatbin-codec"


def test_a_workflow_gets_no_matrix_that_cannot_succeed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = write(tmp_path, f"{HEAD}matrix: {{include: [{CUDA.replace('speed', 'size')}]}}")
    assert run(["plan", "--matrix", str(wrong), "--format", "github"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "fatbin-codec" in captured.err


def test_more_than_256_jobs_are_refused_for_github_and_a_warning_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, f"{HEAD}defaults: {CPU}\nmatrix: {{glibc: {[f'2.{n}' for n in range(257)]}}}")
    assert run(["plan", "--matrix", str(path), "--format", "github"]) == 2
    assert "257 lanes, and GitHub starts at most 256 jobs" in capsys.readouterr().err
    assert run(["plan", "--matrix", str(path)]) == 0
    assert "github-jobs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "status", "line"),
    [
        (f"{HEAD}matrix: {{include: [{CPU[:-1]}, tolkit: x}}]}}", 2, "matrix.yaml:16:66: unknown key 'tolkit'"),
        (HEAD.replace("version: 1", "version: one") + "matrix: {}\n", 2, "matrix.yaml:1:10: found the text 'one'"),
        (f"{HEAD}version: 1\n", 2, "matrix.yaml:16:1: duplicate key 'version', first on line 1"),
        (BOMB, 2, "use fewer aliases"),
        (f"{HEAD}\tmatrix: {{}}\n", 2, "matrix.yaml:16:1: a tab where YAML wants spaces"),
        ("", 2, "matrix.yaml:1:1: the file is empty"),
        (f"{HEAD}matrix: {{}}\n", 3, "the matrix has no lane"),
    ],
)
def test_bad_input_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, status: int, line: str
) -> None:
    path = write(tmp_path, content)
    assert run(["plan", "--matrix", str(path)]) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert line in captured.err.splitlines()[0]


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--matrix", str(tmp_path / "none.yaml")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_gpu_runs_are_printed_for_people_programs_and_workflows(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--matrix", REAL, "--gpu-runs"]) == 0
    assert "2 GPU runs for 2 lanes" in capsys.readouterr().out
    run(["plan", "--matrix", REAL, "--gpu-runs", "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "gpu-runs"
    run(["plan", "--matrix", REAL, "--gpu-runs", "--format", "github"])
    assert json.loads(capsys.readouterr().out) == {"include": document["runs"]}
    assert {row["id"] for row in document["runs"]} == {"sm90-580.159.04", "sm80-535.288.01"}


def test_no_gpu_run_is_planned_for_a_matrix_that_cannot_succeed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = write(tmp_path, f"{HEAD}matrix: {{include: [{CUDA.replace('speed', 'size')}]}}")
    assert run(["plan", "--matrix", str(wrong), "--gpu-runs"]) == 2
    assert capsys.readouterr().out == ""
