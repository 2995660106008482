"""What ``load`` costs beside a bare loop of ``cuModuleLoadData``: both from a command line, in turn, many times.

The bare loop is three processes side by side, one for each pass: each starts the same interpreter, opens libcuda, makes
a context, reads the containers out of one file that was written before, loads and unloads each, and ends. ``load``
starts the same interpreter too, and has all the rest to do: unpack the archive, read it, foresee, three workers,
compare, write the document, and wait for the workers' end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from pipeline.gpu.containers import Pieces, pour
from pipeline.inventory import take_inventory

if TYPE_CHECKING:
    from pipeline.formats.facts import Inventory

PASSES: tuple[dict[str, str], ...] = ({}, {"CUDA_DISABLE_PTX_JIT": "1"}, {"CUDA_FORCE_PTX_JIT": "1"})
ROOT = Path(__file__).resolve().parents[2]


def measured(artifact: Path, repetitions: int) -> dict[str, Any]:
    """Seconds of both, one after the other, ``repetitions`` times; the first pair, which fills caches, is left out."""
    with tempfile.TemporaryDirectory() as folder:
        images = Path(folder) / "images"
        loadable = loaded_by(artifact)
        images.write_bytes(b"".join(len(image).to_bytes(8, "little") + image for image in loadable))
        pairs = [(timed_bare(images), timed_load(artifact), timed_nothing()) for _ in range(repetitions + 1)][1:]
    bare, ours, nothing = (list(column) for column in zip(*pairs, strict=True))
    return {
        "artifact": {"name": artifact.name, "size": artifact.stat().st_size},
        "containers": len(loadable),
        "container_bytes": sum(map(len, loadable)),
        "bare_loop_seconds": rounded(bare),
        "load_seconds": rounded(ours),
        "interpreter_alone_seconds": rounded(nothing),
        "medians": {"bare_loop": round(median(bare), 3), "load": round(median(ours), 3)},
        "overhead": round(median(ours) / median(bare) - 1, 3),
        "overhead_of_each_pair": rounded([second / first - 1 for first, second in zip(bare, ours, strict=True)]),
    }


def rounded(values: list[float]) -> list[float]:
    return [round(value, 3) for value in values]


def loaded_by(artifact: Path) -> list[bytes]:
    """The containers that ``load`` gives to the driver, in its order."""
    inventory: Inventory = take_inventory(artifact)
    images: list[bytes] = []
    loadable = [item for item in inventory.fatbins if item.entries and not item.relocatable]
    pour(artifact, Pieces.of(loadable, inventory.bare), lambda _place, image: images.append(image))
    return images


def timed_bare(images: Path) -> float:
    """Seconds for three plain processes side by side, one for each pass: start to end."""
    fixed = {"CUDA_MODULE_LOADING": "EAGER", "CUDA_CACHE_DISABLE": "1"}
    command = [sys.executable, str(Path(__file__).with_name("bare_loop.py")), str(images)]
    started = time.monotonic()
    running = [subprocess.Popen(command, env={**os.environ, **fixed, **variables}) for variables in PASSES]
    if any(process.wait() for process in running):
        raise SystemExit("the bare loop failed")
    return time.monotonic() - started


def timed_load(artifact: Path) -> float:
    command = [sys.executable, "-m", "pipeline", "load", str(artifact.resolve()), "--format", "json"]
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT)
    seconds = time.monotonic() - started
    if not done.stdout:
        raise SystemExit(done.stderr.decode())
    return seconds


def timed_nothing() -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.monotonic() - started
