"""Everything that is done on a machine with a GPU, one step after the other, each within its own time.

    python -m tests.gpu.session --carried FOLDER --out DIR [--steps overhead,load,…] [--seconds 540]

``--carried`` holds ``bundle/`` (the CUDA lane's tar.gz), ``fixtures/`` (of tests.fixture_server.bundles), ``released/``
(of ``evidence_run extract``) and ``llama-src.tar.xz`` (for tests.gpu.build_llama). What a step wrote is packed into
``DIR/results.tar.gz`` after each, so that one that fails or hangs loses nothing. ``build`` runs beside the others.
Where all of it is too much to carry at once, ``--steps`` chooses what its parts are enough for.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "docs" / "evidence"


@dataclass(frozen=True, slots=True)
class Step:
    """A command with its limit in seconds. ``beside`` runs while the later steps do; ``last`` waits for it."""

    name: str
    command: list[str]
    limit: float
    beside: bool = False


def python(*words: object) -> list[str]:
    return [sys.executable, "-m", *map(str, words)]


def steps(carried: Path, out: Path) -> list[Step]:
    """In the order of their worth; what is timed comes before what computes beside it."""
    bundle = next((carried / "bundle").glob("*.tar.gz"), carried / "bundle" / "none")
    released = sorted((carried / "released").glob("*.tar.xz"))
    results, built = out / "results", out / "built"
    run, foreseen = "tests.gpu.evidence_run", ("--expectations", EVIDENCE / "h200-r580-bundles-predictions.json")
    return [
        Step("machine", ["sh", "-c", MACHINE], 30),
        Step("overhead", python(run, "overhead", bundle, "--out", results), 60),
        Step("load", python("pipeline", "load", bundle, "--format", "json", "--output", results / "load.json"), 30),
        Step(
            "build",
            python("tests.gpu.build_llama", carried / "llama-src.tar.xz", "--archs", "89-real", "--out", built),
            480,
            beside=True,
        ),
        Step(
            "bundles",
            python(
                "tests.gpu.bundles_run", carried / "fixtures", bundle.parent, *foreseen, "--out", results / "bundles"
            ),
            90,
        ),
        Step(
            "situations",
            python(run, "situations", bundle, "--compat", "/usr/local/cuda/compat", "--out", results),
            40,
        ),
        Step(
            "damage",
            python(
                *("tests.gpu.damage_run", bundle, "--out", results, "--seconds", "150"),
                *("--smoke", "--device cuda --models tiny --models q4_k"),
            ),
            220,
        ),
        Step(
            "released",
            python(
                *(run, "run", "--predictions", EVIDENCE / "h200-r580-predictions-2.json", "--out", results),
                *("--jobs", "2", "--fresh", *released),
            ),
            240,
        ),
        Step("tests", python("pytest", "-q", "-m", "gpu", "tests/gpu", "-p", "no:cacheprovider"), 60),
        Step("built", python("tests.gpu.bundles_run", built, *foreseen, "--out", results / "built"), 60),
    ]


MACHINE = (
    "nvidia-smi --query-gpu=name,driver_version,compute_cap,mig.mode.current --format=csv; uname -r; "
    "nvcc --version | tail -2; gcc --version | head -1; python3 --version; nproc; "
    "ls -d /proc/driver/nvidia/version /usr/local/cuda/compat /usr/local/cuda/extras/CUPTI; true"
)


def main() -> int:
    """Run the chosen steps; end with the number of those that failed."""
    parser = argparse.ArgumentParser(description="all GPU runs, one after the other")
    parser.add_argument("--carried", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", default="", help="names, with commas between them (default: all)")
    parser.add_argument("--seconds", type=float, default=540.0, help="for everything")
    arguments = parser.parse_args()
    out, carried = arguments.out.resolve(), arguments.carried.resolve()
    (out / "results").mkdir(parents=True, exist_ok=True)
    chosen = [step for step in steps(carried, out) if not arguments.steps or step.name in arguments.steps.split(",")]
    session = Session(out, time.monotonic() + arguments.seconds)
    for step in chosen:
        session.run(step)
    session.finish()
    return sum(row["status"] != 0 for row in session.rows)


class Session:
    """Runs steps, keeps what they wrote and how they ended."""

    def __init__(self, out: Path, deadline: float) -> None:
        self._out = out
        self._deadline = deadline
        self._beside: list[tuple[Step, subprocess.Popen[bytes], float]] = []
        self.rows: list[dict[str, object]] = []

    def run(self, step: Step) -> None:
        if step.name == "built":
            self._await()
        left = self._deadline - time.monotonic()
        print(f"== {step.name}, {left:.0f} s left", flush=True)
        if left < 5:
            self._row(step, None, 0.0)
            return
        started = time.monotonic()
        process = self._started(step)
        if step.beside:
            self._beside.append((step, process, started))
            return
        self._row(step, _ended(process, min(step.limit, left)), time.monotonic() - started)

    def _started(self, step: Step) -> subprocess.Popen[bytes]:
        log: IO[bytes]
        with (self._out / "results" / f"{step.name}.log").open("wb") as log:
            return subprocess.Popen(
                step.command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, env=ENVIRONMENT
            )

    def _await(self) -> None:
        for step, process, started in self._beside:
            left = min(self._deadline - time.monotonic(), step.limit - (time.monotonic() - started))
            self._row(step, _ended(process, max(left, 1.0)), time.monotonic() - started)
        self._beside.clear()

    def _row(self, step: Step, status: int | None, seconds: float) -> None:
        self.rows.append({"step": step.name, "status": status, "seconds": round(seconds, 1)})
        print(f"   {step.name}: status {status}, {seconds:.1f} s", flush=True)
        log = self._out / "results" / f"{step.name}.log"
        if log.exists():
            print(log.read_text(errors="replace")[-1500:], flush=True)
        self._pack()

    def finish(self) -> None:
        """Wait for what runs beside, and pack everything."""
        self._await()
        self._pack()

    def _pack(self) -> None:
        (self._out / "results" / "session.json").write_text(json.dumps(self.rows, indent=1) + "\n")
        with tarfile.open(self._out / "results.tar.gz", "w:gz") as archive:
            archive.add(self._out / "results", "results")


ENVIRONMENT = {**os.environ, "CUBINGATE_GPU": "1", "PYTHONUNBUFFERED": "1"}


def _ended(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """How it ended; ``None`` when it had to be killed, with everything that it started."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


if __name__ == "__main__":
    sys.exit(main())
