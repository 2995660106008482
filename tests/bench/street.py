"""Start-up, planning, serving and the second run."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from tests.bench.measure import Figure, cubingate, timed
from tests.e2e.street import fixture_bundle, write_matrix


def version() -> Figure:
    """`cubingate --version`: heavy imports must be lazy."""
    run = timed(cubingate("--version"), runs=15)
    return Figure("cubingate --version", f"{run.seconds:.3f} s", "< 0.15 s", run.seconds < 0.15)


def plan() -> Figure:
    """`plan` of 10,000 combinations before exclude."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        glibc = [f"2.{n}" for n in range(20, 40)]
        matrix = {
            "toolkit": ["12.0", "12.1", "12.2", "12.3", "12.4", "12.5", "12.6", "12.8", "12.9", "13.0"],
            "archs": [f"{n}-real" for n in (75, 80, 86, 87, 89, 90)] + ["80-real;90", "90-virtual", "75", "86;89"],
            "compression": ["none", "speed", "balance", "size", "default"],
            "glibc": glibc,
            "exclude": [{"glibc": version} for version in glibc[1:]],
        }
        defaults: dict[str, object] = {"platform": "x86_64", "source": "fixture", "smoke": "fixture", "flavour": "cuda"}
        targets = {"h100": {"gpu": "H100", "sm": 90, "driver": "580.65.06"}}
        defaults |= {"targets": ["h100"], "driver_floor": "580.65.06"}
        street = write_matrix(folder, [], matrix=matrix, defaults=defaults, targets=targets)
        run = timed(cubingate("plan", "--format", "json"), cwd=street.folder, runs=3, statuses=(0, 2))
    return Figure("plan, 10,000 combinations", f"{run.seconds:.2f} s", "< 1 s", run.seconds < 1)


def smoke() -> Figure:
    """From server-ready to verdict: the tool's own time, with a server that answers at once."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        bundle = folder / fixture_bundle(folder)["file"]
        seconds = []
        for _ in range(5):
            command = cubingate("smoke", str(bundle), "--format", "json")
            done = subprocess.run(command, cwd=folder, check=True, capture_output=True)
            seconds.append(float(json.loads(done.stdout)["seconds_after_ready"]))
        median = sorted(seconds)[2]
    return Figure("smoke, server-ready to verdict", f"{median:.3f} s", "< 0.3 s", median < 0.3)


def second_run() -> Figure:
    """A second `run` that changes nothing, over twelve prebuilt lanes."""
    with tempfile.TemporaryDirectory() as scratch:
        lanes = [{"id": f"lane{n}", "bundle": {"name": f"b{n}", "version": "1"}} for n in range(12)]
        street = write_matrix(Path(scratch), lanes)
        first = street.cubingate("run")
        if first.returncode:
            raise RuntimeError(first.stderr)
        run = timed(cubingate("run"), cwd=street.folder, runs=3)
    return Figure("second run, 12 lanes, nothing changed", f"{run.seconds:.2f} s", "< 5 s", run.seconds < 5)
