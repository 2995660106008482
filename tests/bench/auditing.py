"""Audits of large real artifacts, as ratios to other tools on the same file in the same run."""

from __future__ import annotations

import shutil
import sys
import tarfile
from typing import TYPE_CHECKING

from tests import toolchain
from tests.bench.measure import Figure, Run, cubingate, timed

if TYPE_CHECKING:
    from pathlib import Path

TORCH = "torch==2.14.1"
TARGET = "90@580.65.06"


def library() -> Figure:
    """libtorch_cuda.so against cuobjdump's two listings; interpreter start included, the file's own digest not."""
    path = next(toolchain.unpacked(TORCH).glob("**/libtorch_cuda.so"))
    program = next(toolchain.unpacked(toolchain.CUOBJDUMP).glob("**/bin/cuobjdump"))
    theirs = sum(timed([program, option, path], runs=1).seconds for option in ("--list-elf", "--list-ptx"))
    ours = timed([sys.executable, "-m", "tests.bench.without_digest", path, TARGET], runs=7)
    digested = timed(cubingate("audit", str(path), "--target", TARGET), runs=3, statuses=(0, 1))
    ratio = theirs / ours.seconds
    measured = f"{ratio:.0f}x, {ours.seconds:.2f} s ({digested.seconds:.2f} s with digest), {ours.mib:.0f} MiB"
    return Figure("audit libtorch_cuda.so / cuobjdump", measured, ">= 100x, < 150 MB", ratio >= 100 and ours.mib < 143)


def wheel() -> Figure:
    """The torch wheel against merely decompressing it."""
    return _against_decompression("audit torch wheel / decompression", toolchain.wheel(TORCH))


def tarball() -> Figure:
    """The libraries of torch in a .tar.gz against merely decompressing it."""
    packed = toolchain.cache() / "torch-lib.tar.gz"
    if not packed.exists():
        part = packed.with_suffix(".part")
        with tarfile.open(part, "w:gz", compresslevel=6) as tar:
            tar.add(next(toolchain.unpacked(TORCH).glob("torch/lib")), "lib")
        shutil.move(part, packed)
    return _against_decompression("audit .tar.gz of torch/lib / decompression", packed)


def _against_decompression(name: str, path: Path) -> Figure:
    """Pairs of runs in turn, so that a machine whose speed drifts treats both alike; the median ratio counts."""
    pairs = [_pair(path) for _ in range(5)]
    ratio = sorted(ours.seconds / theirs.seconds for ours, theirs in pairs)[2]
    mib = max(ours.mib for ours, _ in pairs)
    return Figure(name, f"{ratio:.2f}x, {mib:.0f} MiB", "<= 1.25x, < 250 MB", ratio <= 1.25 and mib < 238)


def _pair(path: Path) -> tuple[Run, Run]:
    ours = timed([sys.executable, "-m", "tests.bench.without_digest", path, TARGET], runs=1)
    theirs = timed([sys.executable, "-m", "tests.bench.decompress", path], runs=1)
    return ours, theirs
