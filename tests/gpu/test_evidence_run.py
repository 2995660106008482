"""The script whose results are kept does what it says, as far as a stand-in can show."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.gpu import made
from tests.gpu.test_load import native

if TYPE_CHECKING:
    from tests.gpu.standin import StandIn

ROOT = Path(__file__).resolve().parents[2]


def step(driver: StandIn, *words: str | Path) -> int:
    command = [sys.executable, "-m", "tests.gpu.evidence_run", *words]
    done = subprocess.run(command, cwd=ROOT, env=driver.environment(), capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


@pytest.mark.parametrize(("answer", "status"), [("CUDA_ERROR_NO_BINARY_FOR_GPU", 0), ("CUDA_SUCCESS", 1)])
def test_predictions_are_written_first_and_held_against_the_driver(
    driver: StandIn, tmp_path: Path, answer: str, status: int
) -> None:
    other = driver.answers(made.fatbin(made.cubin("89")), answer)
    library = made.library(tmp_path / "lib.so", [native(driver), other, other])
    packed, predictions = tmp_path / "packed.tar", tmp_path / "predictions.json"
    assert step(driver, "extract", library, "--out", packed) == 0
    assert step(driver, "predict", packed, "--target", "90@580.159.04", "--out", predictions) == 0
    assert len(read(predictions)["artifacts"][0]["containers"]) == 2
    assert step(driver, "run", packed, "--predictions", predictions, "--out", tmp_path, "--jobs", "2") == status
    result = read(tmp_path / "load-packed.tar.json")
    assert result["containers"] == 2
    assert len(result["disagreements"]) == status
    assert result["predicted_and_observed"]["as_is"] == {
        "CUDA_SUCCESS -> CUDA_SUCCESS": 1,
        f"CUDA_ERROR_NO_BINARY_FOR_GPU -> {answer}": 1,
    }
    assert str(tmp_path) not in json.dumps(result["disagreements"])


def test_what_was_not_predicted_is_not_run(driver: StandIn, tmp_path: Path) -> None:
    library = made.library(tmp_path / "lib.so", [native(driver)])
    (tmp_path / "predictions.json").write_text('{"artifacts": [], "written": "", "target": ""}')
    assert step(driver, "run", library, "--predictions", tmp_path / "predictions.json", "--out", tmp_path) == 1
    assert not list(tmp_path.glob("load-*"))


@pytest.mark.slow
def test_overhead_and_situations(driver: StandIn, tmp_path: Path) -> None:
    library = made.library(tmp_path / "lib.so", [native(driver)])
    assert step(driver, "overhead", library, "--out", tmp_path) == 0
    assert read(tmp_path / "overhead.json")["bare_loop_seconds"]
    assert step(driver, "situations", library, "--out", tmp_path) == 0
    assert [row["status"] for row in read(tmp_path / "situations.json")["situations"]] == [0, 4, 4, 4, 4]
