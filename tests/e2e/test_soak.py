"""What must never fail once, many times: runs killed at random moments, runs side by side in one state directory."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.street import Street, write_matrix

ROOT = Path(__file__).resolve().parents[2]
KILLS = 40
SIDE_BY_SIDE = 6
pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


def killed_after(street: Street, seconds: float, *command: str) -> None:
    """Start a command and kill it, with no chance to clean up, unless it ends before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", *command],
        cwd=street.folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(street.folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    process.kill()
    process.wait()


def test_runs_and_publications_killed_at_random_leave_nothing_wrong(tmp_path: Path) -> None:
    chance = random.Random(20261130)
    street = write_matrix(tmp_path, [{"id": "one"}])
    for _ in range(KILLS):
        killed_after(street, chance.uniform(0.05, 3.0), "run")
        killed_after(street, chance.uniform(0.05, 0.6), "publish")
    assert street.cubingate("run").returncode == 0
    assert street.cubingate("publish").returncode == 0
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path / "dist", check=True)
    assert all(row["verdict"] == "approved" for row in street.verdicts().values())


def test_runs_side_by_side_agree(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": f"lane{n}"} for n in range(3)])
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        runs = list(pool.map(lambda _: street.cubingate("run"), range(SIDE_BY_SIDE)))
    assert [run.returncode for run in runs] == [0] * SIDE_BY_SIDE, [run.stderr for run in runs]
