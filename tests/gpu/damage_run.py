"""Damage a bundle on purpose, on the machine with the GPU: every damaged one has to fail at ``load`` or ``smoke``.

    python -m tests.gpu.damage_run BUNDLE.tar.gz --out DIR --flips 24 --seconds 200

1. The SM number of every entry is rewritten. 2. The kernels that a smoke launches are written down. 3. One of their
containers is repacked unchanged: this one has to pass. 4. One instruction is changed in each of those kernels, in turn
by each kind of change; every one is loaded and smoked. 5. Where one survives, the same instruction is made one that
does not exist: if that survives too, the smoke never executes it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import asdict, dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.gpu import flips, launches

ROOT = Path(__file__).resolve().parents[2]
# Most of the flips are of the kinds that make a difference to results alone.
CHANGES = (
    flips.Change.LOST_STORE,
    flips.Change.OTHER_REGISTER,
    flips.Change.OTHER_REGISTER,
    flips.Change.OTHER_GUARD,
    flips.Change.LOST_STORE,
    flips.Change.OTHER_REGISTER,
    flips.Change.NOT_CODE,
)


@dataclass(slots=True)
class Trials:
    """Where bundles are damaged: ``folder`` is the unpacked one, ``server`` its server as it was built."""

    folder: Path
    smoke: list[str]
    deadline: float
    server: bytes = b""
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def place(self) -> Path:
        return next(self.folder.rglob("bin/llama-server"))

    def judged(self, server: bytes) -> dict[str, Any]:
        """What ``load`` and ``smoke`` say of the bundle with this server in it."""
        self.place.write_bytes(server)
        loaded = command(["load", str(self.folder)])
        smoked = command(["smoke", str(self.folder), *self.smoke])
        caught = [name for name, row in (("load", loaded), ("smoke", smoked)) if row["status"] != 0]
        return {"caught_by": caught, "load": loaded, "smoke": smoked}

    def over(self) -> bool:
        return time.monotonic() > self.deadline


def command(words: list[str]) -> dict[str, Any]:
    """The exit status of a command and why, from its document."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", *words, "--format", "json"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=ROOT,
        )
    except subprocess.TimeoutExpired:
        return {"status": None, "why": ["no answer in 120 s"]}
    document = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    failed = [row for row in document.get("checks", ()) if row.get("status") in {"fail", "error"}]
    why = [f"{row.get('id')}: {str(row.get('reason'))[:200]}" for row in failed[:3]]
    why += sorted({row["result"] for row in document.get("containers", ()) if row["result"] != "CUDA_SUCCESS"})
    return {"status": done.returncode, "why": why or done.stderr.strip()[-300:].splitlines()}


def main() -> int:
    """Do all five steps; end with 1 when the healthy twin fails, or a damaged bundle survives that should not."""
    parser = argparse.ArgumentParser(description="damage a bundle on purpose")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--flips", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--smoke", default="--device cuda", help="the words of a smoke after its path")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="damage-") as scratch:
        document = damaged(arguments, Path(scratch))
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "damage.json").write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document["summary"]))
    good = document["sm_rewritten"]["caught_by"] and not document["healthy_twin"]["caught_by"]
    return 0 if good and document["summary"]["flips"] else 1


def damaged(arguments: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    folder = scratch / "bundle"
    with tarfile.open(arguments.bundle) as archive:
        archive.extractall(folder, filter="data")
    trials = Trials(folder, arguments.smoke.split(), time.monotonic() + arguments.seconds)
    trials.server = trials.place.read_bytes()
    found = traced(trials, scratch)
    print(f"{len(found)} kernels are launched", flush=True)
    other, entries = flips.with_other_sm(trials.server, 89)
    rewritten = {"entries": entries, **trials.judged(other)}
    print(f"SM rewritten in {entries} entries: caught by {rewritten['caught_by']}", flush=True)
    healthy = trials.judged(twin(trials.server, found))
    print(f"healthy twin: caught by {healthy['caught_by']}", flush=True)
    flip_all(trials, found, arguments.flips)
    survivors = [row for row in trials.rows if not row["caught_by"]]
    return {
        "kind": "damage",
        "bundle": arguments.bundle.name,
        "launched": [asdict(launch) for launch in found],
        "sm_rewritten": rewritten,
        "healthy_twin": healthy,
        "flips": trials.rows,
        "summary": {
            "flips": len(trials.rows),
            "caught": len(trials.rows) - len(survivors),
            "survivors": [f"{row['kernel']} at {row['at']:#x}: {row['change']}; {row['reached']}" for row in survivors],
        },
    }


def traced(trials: Trials, scratch: Path) -> list[launches.Launch]:
    """The kernels that a smoke of the undamaged bundle launches."""
    log = scratch / "launches"
    log.touch(0o666)
    launches.instrument(trials.folder, scratch / "traced", log)
    row = command(["smoke", str(scratch / "traced"), *trials.smoke])
    print(f"traced smoke: {row}", flush=True)
    return launches.launched(log, trials.server)


def twin(server: bytes, found: list[launches.Launch]) -> bytes:
    for launch in found:
        try:
            return flips.repacked(server, launch.container)
        except flips.DoesNotFit:
            continue
    raise SystemExit("no container of a launched kernel can be repacked")


def flip_all(trials: Trials, found: list[launches.Launch], most: int) -> None:
    """Kernels in turn, with the kinds of change in turn, until there are enough or the time is over."""
    changes = cycle(CHANGES)
    for seed in range(4):
        for launch in found:
            if len(trials.rows) >= most or trials.over():
                return
            change = next(changes)
            try:
                server, flip = flips.flipped(trials.server, launch.container, launch.kernel, change, seed=seed)
            except flips.DoesNotFit:
                continue
            row = {**asdict(flip), **trials.judged(server)}
            if not row["caught_by"]:
                row["reached"] = reached(trials, flip)
            trials.rows.append(row)
            print(f"{len(trials.rows)}: {flip.kernel[:60]} {change.name}: caught by {row['caught_by']}", flush=True)


def reached(trials: Trials, flip: flips.Flip) -> str:
    """Whether the smoke executes the instruction at all: one that does not exist in its place tells."""
    try:
        server, _ = flips.flipped(trials.server, flip.container, flip.kernel, flips.Change.NOT_CODE, only=flip.at)
    except flips.DoesNotFit:
        return "whether it is executed is not known"
    judged = trials.judged(server)["caught_by"]
    return "it is executed, and the token does not depend on it" if judged else "the smoke never executes it"


if __name__ == "__main__":
    sys.exit(main())
