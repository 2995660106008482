"""``cubingate load`` from the outside: statuses, the JSON document, and a loud word where the rules were wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.gpu import made
from tests.gpu.test_load import BY_JIT, NATIVE, native

if TYPE_CHECKING:
    from tests.gpu.standin import StandIn

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "pipeline", "load"]


def run(driver: StandIn, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**driver.environment(), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def good(driver: StandIn, tmp_path: Path) -> Path:
    jit = driver.answers(made.fatbin(made.ptx("80")), *BY_JIT)
    return made.library(tmp_path / "lib.so", [native(driver), jit])


def test_the_document(driver: StandIn, good: Path) -> None:
    done = run(driver, good, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert (document["schema_version"], document["kind"], document["verdict"]) == (1, "load", "pass")
    assert document["artifact"]["format"] == "elf"
    assert (document["machine"]["sm"], document["machine"]["driver"]) == ("90", "580.159.04")
    assert document["machine"]["libcuda"].endswith("libcuda.so.580.159.04")
    native_row, jit_row = document["containers"]
    expected = {
        "result": "CUDA_SUCCESS",
        "via": "cubin",
        "jit_forbidden": "CUDA_SUCCESS",
        "jit_forced": "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "predicted": "CUDA_SUCCESS",
        "agrees": True,
    }
    assert native_row | expected == native_row
    assert native_row["path"].endswith("lib.so!/.nv_fatbin!/0")
    assert jit_row["via"] == "jit"
    assert jit_row["jit_seconds"] > 0


def test_words_for_people(driver: StandIn, good: Path) -> None:
    done = run(driver, good)
    assert done.returncode == 0
    assert "NVIDIA H200, sm_90, driver 580.159.04" in done.stdout
    assert "PASS  1 native, 1 by JIT, 0 missing of 2 containers" in done.stdout
    assert "2 of 2 as the rules said" in done.stdout


def test_output_to_a_file(driver: StandIn, good: Path, tmp_path: Path) -> None:
    done = run(driver, good, "--format", "json", "--output", tmp_path / "out.json")
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["kind"] == "load"


def test_a_contradiction_is_loud_in_every_format(driver: StandIn, tmp_path: Path) -> None:
    strange = driver.answers(made.fatbin(made.cubin("89")), "CUDA_SUCCESS")
    file = made.library(tmp_path / "lib.so", [strange])
    for words in ((), ("--format", "json")):
        done = run(driver, file, *words)
        assert done.returncode == 1
        assert "DISAGREEMENT as it is: foreseen CUDA_ERROR_NO_BINARY_FOR_GPU, observed CUDA_SUCCESS" in done.stderr
        assert "sha256 " in done.stderr
        assert "Traceback" not in done.stderr


def test_the_statuses(driver: StandIn, good: Path, tmp_path: Path) -> None:
    bad = driver.answers(made.fatbin(made.cubin("89")), "CUDA_ERROR_NO_BINARY_FOR_GPU")
    (tmp_path / "bad.fatbin").write_bytes(bad)
    (tmp_path / "plain").write_bytes(b"no device code")
    (tmp_path / "cut.fatbin").write_bytes(bad[:-100])
    assert run(driver, tmp_path / "bad.fatbin").returncode == 1
    assert run(driver, tmp_path / "nowhere").returncode == 2
    assert run(driver, good, "--device", "first").returncode == 2
    assert run(driver, good, "--timeout", "0").returncode == 2
    assert run(driver, tmp_path / "plain").returncode == 3
    assert run(driver, good, "--device", "3").returncode == 4
    assert run(driver, tmp_path / "cut.fatbin").returncode == 5


def test_no_gpu_is_status_4_in_one_line(driver: StandIn, good: Path) -> None:
    driver.more["STANDIN_INIT"] = "100"
    done = run(driver, good)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("cubingate: cuInit answers CUDA_ERROR_NO_DEVICE")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_load_ends_at_once_with_its_workers(
    driver: StandIn, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    hanging = driver.answers(made.fatbin(made.cubin("90")), "hang", *NATIVE[1:])
    file = made.library(tmp_path / "lib.so", [hanging])
    process = subprocess.Popen(
        [*COMMAND, file], env={**driver.environment(), "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True
    )
    try:
        while not any(line[1] == "0" for line in driver.loads()):
            time.sleep(0.02)
        workers = [int(line[0]) for line in driver.loads()]
        started = time.monotonic()
        process.send_signal(number)
        words = process.communicate(timeout=20)[1]
    finally:
        process.kill()
        process.communicate()
    assert time.monotonic() - started < 5
    assert process.returncode == status
    assert "Traceback" not in words
    assert not any(is_alive(worker) for worker in workers)


def is_alive(process: int) -> bool:
    """Whether it runs; one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def test_a_killed_load_leaves_no_worker_behind(driver: StandIn, tmp_path: Path) -> None:
    hanging = driver.answers(made.fatbin(made.cubin("90")), "hang", *NATIVE[1:])
    file = made.library(tmp_path / "lib.so", [hanging])
    process = subprocess.Popen([*COMMAND, file], env={**driver.environment(), "PYTHONPATH": str(ROOT)})
    while not any(line[1] == "0" for line in driver.loads()):
        time.sleep(0.02)
    worker = next(int(line[0]) for line in driver.loads() if line[1] == "0")
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 5
    while is_alive(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(worker)
