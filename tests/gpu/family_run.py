"""Serve the whole family of generated models on a real GPU, and the twins that must fail; results are kept.

    python -m tests.gpu.family_run CUDA_BUNDLE --cpu-bundle CPU_BUNDLE --out DIR

It needs Python 3.11 or newer, the dependencies openai, requests, gguf, numpy and backports.zstd, nvidia-smi, and the
CUDA libraries that the bundle does not ship, which it looks for in the usual folders or in ``--libraries``. Nothing is
fetched. It tells what it does, starts nothing new after ``--seconds``, and ends with 1 when something came out other
than it must. DIR/family.json is written anew after every step.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.digest import file_sha256
from pipeline.engine.process import ProcessEngine
from pipeline.machine import installed_gpus, this_machine
from pipeline.model.finding import Status
from pipeline.serve.bundle import Place, smoke_bundle
from pipeline.serve.cases import CASES
from pipeline.serve.launch import default_settings
from pipeline.stages.smoke import error_finder
from pipeline.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.machine import InstalledGpu
    from pipeline.model.lane import SmokeSettings
    from pipeline.serve.outcome import SmokeReport

FOLDERS = ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/lib/x86_64-linux-gnu")
COMMANDS = 3


@dataclass(slots=True)
class Run:
    """Everything a step needs, and what came out so far."""

    out: Path
    scratch: Path
    gpu: InstalledGpu
    libraries: str | None
    until: float
    document: dict[str, Any] = field(default_factory=dict)
    wrong: int = 0

    def say(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def keep(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "family.json").write_text(json.dumps(self.document, indent=1) + "\n")


def main() -> int:
    """Do it all."""
    arguments = parse()
    with tempfile.TemporaryDirectory(prefix="cubingate-family-") as scratch:
        run = begun(arguments, Path(scratch))
        cuda = unpacked(arguments.bundle, run, "cuda")
        settings = with_libraries(default_settings(cuda), run)
        only = set(arguments.only or [case.name for case in CASES])
        for case in CASES:
            if case.name in only and time.monotonic() < run.until:
                one_case(case.name, cuda, settings, run)
        for twin in twins(cuda, arguments, run):
            if time.monotonic() < run.until:
                twin()
        for _ in range(COMMANDS):
            if time.monotonic() < run.until:
                one_command(arguments.bundle, run)
        return finished(run, len(only))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the family of models on a real GPU")
    parser.add_argument("bundle", type=Path, help="a CUDA bundle with bin/llama-server")
    parser.add_argument("--cpu-bundle", type=Path, help="one without CUDA, which must fail")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--libraries", help="folder with libcublas, where the loader does not find it by itself")
    parser.add_argument("--seconds", type=float, default=150.0, help="start nothing new after these")
    parser.add_argument("--only", action="append", help="this case only (repeatable)")
    return parser.parse_args()


def begun(arguments: argparse.Namespace, scratch: Path) -> Run:
    until = time.monotonic() + arguments.seconds
    asked = time.monotonic()
    gpus = installed_gpus()
    smi = time.monotonic() - asked
    if not gpus:
        raise SystemExit("no NVIDIA GPU here")
    run = Run(arguments.out, scratch, gpus[0], arguments.libraries or found_libraries(), until)
    run.document = {
        "kind": "smoke-family-evidence",
        "tool": __version__,
        "started": now(),
        "machine": this_machine(engine="process", gpu=gpus[0]).shared.to_json(),
        "bundle": {"name": arguments.bundle.name, "sha256": file_sha256(arguments.bundle)},
        "nvidia_smi_seconds": round(smi, 3),
        "imports_seconds": {name: imported(name) for name in ("requests", "openai", "numpy", "gguf")},
        "cases": [],
        "must_fail": [],
        "commands": [],
    }
    run.say(
        f"{gpus[0].name}, driver {gpus[0].driver}; nvidia-smi {smi:.2f} s; libraries: {run.libraries or 'the loader'}"
    )
    return run


def found_libraries() -> str | None:
    return next((folder for folder in FOLDERS if any(Path(folder).glob("libcublas.so.*"))), None)


def imported(name: str) -> float:
    """Seconds that a fresh process takes to import a library, its own start taken off."""
    plain, whole = (timed([sys.executable, "-c", words]) for words in ("pass", f"import {name}"))
    return round(whole - plain, 3)


def timed(command: list[str]) -> float:
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - began


def unpacked(bundle: Path, run: Run, name: str) -> Path:
    """The bundle's folder, and how long unpacking and hashing take."""
    into = run.scratch / name
    into.mkdir()
    began = time.monotonic()
    root = unpack(bundle, into)
    seconds = time.monotonic() - began
    run.document.setdefault("unpack_seconds", {})[name] = round(seconds, 3)
    run.say(f"unpacked {bundle.name} in {seconds:.2f} s")
    return root


def with_libraries(settings: SmokeSettings, run: Run) -> SmokeSettings:
    if run.libraries is None:
        return settings
    return replace(settings, environment={"LD_LIBRARY_PATH": run.libraries})


def smoked(case: str, root: Path, settings: SmokeSettings, run: Run) -> SmokeReport:
    place = Place(
        machine=this_machine(engine="process", gpu=run.gpu),
        engine=ProcessEngine(os.environ),
        environment=os.environ,
        workspace=run.scratch,
        cache=run.scratch / "cache",
        log=run.scratch / "logs" / f"{case}.log",
        named_in=error_finder(),
    )
    quick = replace(settings, ready_timeout=60.0, token_timeout=30.0)
    return smoke_bundle(root, lambda: "0" * 64, quick, place, (case,))


def one_case(case: str, root: Path, settings: SmokeSettings, run: Run) -> None:
    """A case that must pass."""
    began = time.monotonic()
    report = smoked(case, root, settings, run)
    row = report.cases[0].to_json() | told(report) | {"smoke_seconds": round(time.monotonic() - began, 3)}
    run.document["cases"].append(row)
    run.keep()
    run.wrong += report.verdict.value != "pass"
    off = row["log_probabilities"]
    run.say(f"{case:12} {report.verdict.value:8} {row['seconds']} off by {off['distance']} of {off['tolerance']}")
    for check in report.checks:
        if check.status not in {Status.PASS, Status.NOT_APPLICABLE, Status.SKIPPED}:
            run.say(f"    {check.id}: {check.reason}")
            run.say("    " + (check.diagnosis.log_tail[-1500:] if check.diagnosis else "").replace("\n", "\n    "))


def told(report: SmokeReport) -> dict[str, Any]:
    """The verdict and every check that did not pass."""
    odd = [check for check in report.checks if check.status is not Status.PASS]
    return {
        "verdict": report.verdict.value,
        "not_passed": [
            {"id": check.id.value, "status": check.status.value, "fault": check.fault, "reason": check.reason}
            for check in odd
        ],
    }


def twins(cuda: Path, arguments: argparse.Namespace, run: Run) -> list[Callable[[], None]]:
    """Ways of not using the GPU, each of which must fail: what is served, and the checks that may say so first."""
    usual = with_libraries(default_settings(cuda), run)
    steps = [
        lambda: must_fail("CUDA bundle, -ngl 0", cuda, given(usual, "-ngl", "0", "-dev", "CUDA0"), run),
        lambda: must_fail("CUDA bundle, one layer of three", cuda, given(usual, "-ngl", "1"), run),
        lambda: must_fail("CUDA bundle, -dev none", cuda, given(usual, "-ngl", "99", "-dev", "none"), run),
    ]
    if arguments.cpu_bundle is not None:
        cpu = unpacked(arguments.cpu_bundle, run, "cpu")
        plain = default_settings(cpu)
        steps += [
            lambda: must_fail("CPU bundle, as it is started by default", cpu, plain, run),
            lambda: must_fail("CPU bundle, -ngl 99 without -dev", cpu, given(plain, "-ngl", "99"), run),
        ]
    return steps


def given(settings: SmokeSettings, *words: str) -> SmokeSettings:
    return replace(settings, device_arguments={"cuda": words})


def must_fail(name: str, root: Path, settings: SmokeSettings, run: Run) -> None:
    report = smoked("tiny", root, settings, run)
    decisive = report.decisive
    run.document["must_fail"].append({"what": name, "memory": report.cases[0].to_json()["gpu_memory"]} | told(report))
    run.keep()
    run.wrong += report.verdict.value != "fail"
    run.say(f"{name}: {report.verdict.value}, {decisive and f'{decisive.id}: {decisive.fault}'}")


def one_command(bundle: Path, run: Run) -> None:
    """The command as users give it: wall time against the server's own time to ready plus first token."""
    if run.libraries is not None and not loader_knows():
        run.say("command: not timed, the loader does not find libcublas by itself")
        return
    began = time.monotonic()
    words = ["smoke", str(bundle), "--device", "cuda", "--state", str(run.scratch / "state"), "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pipeline", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.monotonic() - began
    if not done.stdout:
        run.say(f"command: status {done.returncode}")
        return
    report = json.loads(done.stdout)
    seconds = report["models"][0]["seconds"]
    own = sum(value or 0 for value in (seconds["ready"], seconds["first_token"]))
    row = {
        "status": done.returncode,
        "wall_seconds": round(wall, 3),
        "ready_and_first_token": round(own, 3),
        "ratio": round(wall / own, 2) if own else None,
        "checks": {check["id"]: check["seconds"] for check in report["checks"]},
        "slowest_imports_ms": slowest(done.stderr),
    }
    run.document["commands"].append(row)
    run.keep()
    run.say(f"command: {wall:.2f} s, the server's own {own:.2f} s: {row['ratio']}")


def loader_knows() -> bool:
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    return "libcublas.so" in listed


def slowest(errors: str) -> dict[str, float]:
    """The ten imports with the longest cumulated times."""
    rows = [line.split("|") for line in errors.splitlines() if line.startswith("import time:") and "[us]" not in line]
    times = {row[2].strip(): int(row[1]) / 1000 for row in rows if len(row) == 3}
    return dict(sorted(times.items(), key=lambda item: -item[1])[:10])


def finished(run: Run, wanted: int) -> int:
    cases = run.document["cases"]
    run.document |= {"finished": now(), "wrong": run.wrong, "left_out": wanted - len(cases)}
    ready = [case["seconds"]["ready"] for case in cases if case["seconds"]["ready"]]
    run.document["median_ready_seconds"] = round(statistics.median(ready), 3) if ready else None
    run.keep()
    run.say(f"{len(cases)} cases, {wanted - len(cases)} left out, {run.wrong} wrong; {run.out / 'family.json'}")
    return 1 if run.wrong or wanted > len(cases) else 0


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


if __name__ == "__main__":
    sys.exit(main())
