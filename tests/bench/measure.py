"""Time whole processes: the median of several runs, and their peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: what was measured, how much, and the bar it is held against."""

    name: str
    measured: str
    bar: str
    met: bool


@dataclass(frozen=True, slots=True)
class Run:
    """Wall and processor seconds of a process, medians of several runs, and its peak resident memory (MiB)."""

    seconds: float
    mib: float
    processor: float


def cubingate(*arguments: str) -> list[str]:
    """The command of this environment."""
    return [sys.executable, "-m", "pipeline", *arguments]


def timed(
    command: Sequence[str | Path], *, runs: int = 5, cwd: Path | None = None, statuses: Sequence[int] = (0,)
) -> Run:
    """Run a command several times after one warm-up; an exit status out of ``statuses`` is an error."""
    seen = [_once(command, cwd, statuses) for _ in range(runs + 1)][1:]
    return Run(
        statistics.median(run.seconds for run in seen),
        max(run.mib for run in seen),
        statistics.median(run.processor for run in seen),
    )


def _once(command: Sequence[str | Path], cwd: Path | None, statuses: Sequence[int]) -> Run:
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in statuses:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return Run(seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime)
