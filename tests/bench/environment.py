"""Audits of an installed environment: torch with NVIDIA's libraries, some 6.7 GB, read once and looked at again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import toolchain
from tests.bench.measure import Figure, Run, cubingate, timed

TORCH = "torch==2.8.0"
TARGET = "80@535.288.01"


def environment() -> Figure:
    """The first look, which reads and hashes everything, and the second, which asks the file system what changed.

    Its files are in the page cache, for the warm-up has read them, as far as memory goes. Processor seconds are told
    as well: on a machine that others use, wall seconds say more about those.
    The environment is made for this once and left in the cache of the tests; ``CUBINGATE_BENCH_ENVIRONMENT`` names
    another one.
    """
    chosen = os.environ.get("CUBINGATE_BENCH_ENVIRONMENT")
    venv = Path(chosen) if chosen else _installed()
    with tempfile.TemporaryDirectory() as folder:
        first, second = _first(venv, f"{folder}/first"), _second(venv, f"{folder}/second")
    mib = max(first.mib, second.mib)
    measured = f"{_told(first)}, again {_told(second)}, {mib:.0f} MiB"
    met = first.seconds < 10 and second.seconds < 2 and mib < 477
    return Figure("audit an environment of torch", measured, "< 10 s, < 2 s, < 500 MB", met)


def _told(run: Run) -> str:
    return f"{run.seconds:.2f} s ({run.processor:.2f} s of processor)"


def _audit(venv: Path) -> list[str]:
    return cubingate("audit", str(venv), "--target", TARGET)


def _first(venv: Path, cache: str) -> Run:
    """Without a cache, which it writes."""
    emptied = ["sh", "-c", 'rm -rf "$XDG_CACHE_HOME" && exec "$@"', "sh", *_audit(venv)]
    return timed(["env", f"XDG_CACHE_HOME={cache}", *emptied], runs=1, statuses=(0, 1))


def _second(venv: Path, cache: str) -> Run:
    """The warm-up of ``timed`` is the first look, which fills the cache."""
    command = ["env", f"XDG_CACHE_HOME={cache}", *_audit(venv)]
    return timed(command, runs=5, statuses=(0, 1))


def _installed() -> Path:
    place = toolchain.cache() / "environment" / TORCH.replace("==", "-")
    if not place.exists():
        part = place.with_name(f"{place.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", part], check=True)
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(part / "bin" / "python")]
        wheel = toolchain.wheel(TORCH)
        subprocess.run([*pip, "install", "--no-cache-dir", "--find-links", str(wheel.parent), TORCH], check=True)
        part.rename(place)
    return place
