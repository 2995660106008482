"""This repository's own matrix.yaml, as the README promises: llama.cpp from source, served, gated, published."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.street import Street

ROOT = Path(__file__).resolve().parents[2]
CUDA_LANES = ("cuda13.0-sm90", "cuda12.8-sm80-120")


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Street:
    folder = tmp_path_factory.mktemp("main-job")
    shutil.copy(ROOT / "matrix.yaml", folder)
    return Street(folder)


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.timeout(3000)  # on a fresh machine the compiler cache is cold
def test_the_cpu_lanes_pass_and_the_cuda_lanes_are_refused_for_want_of_a_gpu(street: Street) -> None:
    done = street.cubingate("run")
    assert done.returncode == 1, done.stderr
    verdicts = street.verdicts()
    assert verdicts["prebuilt-cpu"]["verdict"] == "approved"
    assert verdicts["cpu-bookworm"]["verdict"] == "approved"
    for lane in CUDA_LANES:
        assert f"{lane}" in done.stdout
        assert verdicts[lane]["verdict"] == "refused"
    assert street.cubingate("publish", "--to", "dist").returncode == 0
    archives = [name for name in street.published() if name.endswith((".tar.gz", ".whl"))]
    assert archives == [
        "llama-server-b11434-linux-x86_64.tar.gz",
        next(name for name in archives if name.startswith("xllamacpp-")),
    ]
    dist = street.folder / "dist"
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=dist, check=True, capture_output=True)
    compat = json.loads((dist / "compat.json").read_text())
    assert {asset["lane"] for asset in compat["assets"]} == {"prebuilt-cpu", "cpu-bookworm"}


@pytest.mark.docker
@pytest.mark.network
def test_a_second_run_changes_nothing_and_says_so(street: Street) -> None:
    first = street.verdicts()
    done = street.cubingate("run")
    assert done.returncode == 1
    assert done.stderr.count("unchanged, passed before") == 4
    assert street.verdicts() == first
