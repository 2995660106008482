"""A run that is interrupted or killed leaves no server, publishes nothing, and goes on where it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.street import SERVE, Street, write_matrix

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
MARK = "cubingate-interrupted"


@pytest.fixture
def street(tmp_path: Path) -> Street:
    """Two lanes: the second takes long to load, and its server bears a mark that can be looked for."""
    slow = {"command": [*SERVE, "--alias", f"{MARK}-{tmp_path.name}"], "environment": {"FIXTURE_LOAD_SECONDS": "4"}}
    lanes: list[dict[str, Any]] = [
        {"id": "quick"},
        {"id": "slow", "smoke": "slow", "bundle": {"name": "slow", "version": "1.0"}},
    ]
    return write_matrix(tmp_path, lanes, smoke={"slow": slow})


def started(street: Street) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline", "run"],
        cwd=street.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def servers(street: Street) -> list[int]:
    """The processes of this machine that bear this test's mark."""
    mark = f"{MARK}-{street.folder.name}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark in path.read_bytes():
                found.append(int(path.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_so_leaves_nothing_and_goes_on(
    street: Street, sent: signal.Signals, status: int
) -> None:
    run = started(street)
    wait_for(lambda: servers(street) or run.poll() is not None)
    assert run.poll() is None, run.communicate()
    run.send_signal(sent)
    _, talk = run.communicate(timeout=30)
    assert run.returncode == status, talk
    assert "Traceback" not in talk
    assert "goes on from here" in talk
    wait_for(lambda: not servers(street), 5)
    assert street.published() == []
    again = street.cubingate("run")
    assert again.returncode == 0, again.stderr
    assert "quick  smoke@cpu  unchanged" in again.stderr


def test_a_killed_run_leaves_no_server_and_goes_on(street: Street) -> None:
    run = started(street)
    wait_for(lambda: servers(street) or run.poll() is not None)
    assert run.poll() is None, run.communicate()
    run.kill()
    run.communicate(timeout=30)
    wait_for(lambda: not servers(street), 10)
    assert street.cubingate("run").returncode == 0
