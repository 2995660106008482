"""Two checks never share a device, and a dead one leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import InfrastructureError
from pipeline.gpu.lease import lease

ROOT = Path(__file__).resolve().parents[2]
HOLD = """
import sys, time
from pathlib import Path
from pipeline.gpu.lease import lease
with lease("GPU-1", wait=0, folder=Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, folder], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_held_device_is_refused_and_its_holder_named(tmp_path: Path) -> None:
    process = holder(tmp_path)
    try:
        with (
            pytest.raises(InfrastructureError, match=f"in use by another check .process {process.pid}"),
            lease("GPU-1", wait=0, folder=tmp_path),
        ):
            pass
        with lease("GPU-2", wait=0, folder=tmp_path):
            pass
    finally:
        end(process)


def test_a_lease_is_waited_for_and_said_so_once(tmp_path: Path) -> None:
    process, told = holder(tmp_path), list[str]()

    def note(line: str) -> None:
        told.append(line)
        process.send_signal(signal.SIGKILL)

    started = time.monotonic()
    with lease("GPU-1", wait=30, folder=tmp_path, note=note):
        assert time.monotonic() - started < 10
    process.communicate()
    assert len(told) == 1
    assert str(process.pid) in told[0]


def test_a_killed_holder_leaves_no_lease(tmp_path: Path) -> None:
    end(holder(tmp_path))
    with lease("GPU-1", wait=0, folder=tmp_path) as path:
        assert path.read_text() == f"{os.getpid()}\n"
    with lease("GPU-1", wait=0, folder=tmp_path):
        pass


def test_other_users_can_lock_too(tmp_path: Path) -> None:
    with lease("GPU-1", wait=0, folder=tmp_path) as path:
        assert path.stat().st_mode & 0o777 == 0o666
        assert "GPU-1" not in path.name


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    with lease("GPU-1", wait=0, folder=tmp_path) as path:
        pass
    path.unlink()
    (tmp_path / "victim").write_text("precious")
    path.symlink_to(tmp_path / "victim")
    with pytest.raises(InfrastructureError, match="cannot open"), lease("GPU-1", wait=0, folder=tmp_path):
        pass
    assert (tmp_path / "victim").read_text() == "precious"
