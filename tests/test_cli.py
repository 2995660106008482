"""Whatever the standard streams and the disk do, the command ends with a status of the contract and in lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``line``, in which ``$CUBINGATE`` is the command; its standard streams are the shell's to bend."""
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CUBINGATE": f"{sys.executable} -m pipeline", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("$CUBINGATE schema > /dev/full", 4),
        ("$CUBINGATE policy > /dev/full 2> /dev/full", 4),
        ("$CUBINGATE schema >&-", 0),
        ("$CUBINGATE schema <&- >&- 2>&-", 0),
        ("$CUBINGATE plan 2>&-", 2),
        ("$CUBINGATE plan 2> /dev/full", 2),
    ],
)
def test_streams_that_are_full_or_closed(tmp_path: Path, line: str, status: int) -> None:
    done = shell(line, tmp_path)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_file_never_gets_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    done = shell("$CUBINGATE schema --output out.json <&- >&- 2>&-; cat out.json", tmp_path)
    assert done.stdout.startswith("{")
    assert done.stdout.rstrip().endswith("}")


@pytest.mark.parametrize("command", ["load --help", "run --help", "explain ptx-isa", "plan --matrix nowhere-\u00e9"])
def test_a_terminal_that_knows_ascii_only(tmp_path: Path, command: str) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    done = shell(f"$CUBINGATE {command}", tmp_path, **ascii_only)
    assert "Traceback" not in done.stderr
    assert done.returncode in {0, 2}


def test_a_state_directory_that_is_a_file_is_one_line_and_status_4(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    (tmp_path / "llama-server").write_bytes(b"\x7fELF")
    done = shell("$CUBINGATE smoke llama-server --state state", tmp_path)
    assert done.returncode == 4, done.stderr
    assert done.stderr.splitlines() == ["cubingate: state: File exists"]


def test_a_wrong_option_is_told_by_the_command_that_has_others(tmp_path: Path) -> None:
    done = shell("$CUBINGATE publish --lane x", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: cubingate publish ")
    assert "unrecognized arguments: --lane x" in done.stderr
