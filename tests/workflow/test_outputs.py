"""What the job `plan` hands on fits through GitHub's job outputs, or is refused before anything is built."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pipeline.cli import run
from pipeline.errors import UsageError
from pipeline.workflow.outputs import fitting, fitting_variable
from pipeline.workflow.render import Kind
from tests.matrix.files import CPU, CUDA, HEAD, write
from tests.workflow.matrices import rendered

if TYPE_CHECKING:
    from pathlib import Path

TWO_NAMES = HEAD.replace("targets:\n", "targets:\n  a100: {gpu: A100, sm: 80, driver: 535.288.01, runner: [a100]}\n")


@pytest.fixture(autouse=True)
def _keep_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)


def _named(lane: str, name: str) -> str:
    return lane.replace("{", f'{{id: "{name}", ', 1)


@pytest.mark.parametrize("other", ["a-b", "A.B"])
def test_lanes_that_would_share_an_output_are_not_planned_either(
    tmp_path: Path, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A workflow that others call is not rendered for their lanes; it would build for hours first."""
    path = str(write(tmp_path, f"{HEAD}matrix: {{include: [{_named(CPU, 'a.b')}, {_named(CPU, other)}]}}"))
    assert run(["plan", "--matrix", path, "--format", "github"]) == 2
    told = capsys.readouterr()
    assert (told.out, "would share the job output" in told.err) == ("", True)
    assert run(["plan", "--matrix", path, "--format", "github", "--lane", "a.b"]) == 0
    assert run(["plan", "--matrix", path]) == 0


def test_a_gpu_run_without_a_runner_is_not_planned_for_a_workflow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = HEAD.replace(", runner: [self-hosted, a30]", "")
    path = str(write(tmp_path, f"{head}matrix: {{include: [{CUDA}]}}"))
    assert run(["plan", "--matrix", path, "--gpu-runs", "--format", "github"]) == 2
    told = capsys.readouterr()
    assert (told.out, "no runner is named for 80@535.288.01" in told.err) == ("", True)
    assert run(["plan", "--matrix", path, "--gpu-runs"]) == 0


def test_two_names_for_one_gpu_and_driver_are_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix = f"{TWO_NAMES}matrix: {{include: [{CUDA.replace('[a30]', '[a30, a100]')}]}}"
    assert rendered(tmp_path, Kind.RELEASE, matrix).count("prove_sm80_535_288_01: ") == 1
    assert run(["plan", "--matrix", str(tmp_path / "matrix.yaml"), "--gpu-runs", "--format", "github"]) == 0
    assert [each["id"] for each in json.loads(capsys.readouterr().out)["include"]] == ["sm80-535.288.01"]


def test_what_is_too_long_for_github_or_a_process_is_refused() -> None:
    """Linux passes no variable of more than 128 KiB to a process, and `watch` gets the GPU runs as one."""
    assert fitting("x" * (1 << 18)) == "x" * (1 << 18)
    assert len(fitting_variable("x" * 130_000)) == 130_000
    for fits, most in ((fitting, 1 << 18), (fitting_variable, 130_000)):
        with pytest.raises(UsageError, match="too long"):
            fits("x" * (most + 1))
