"""Runs on a real GPU whose results are kept: predictions are written first, on a machine without one.

    python -m tests.gpu.evidence_run extract WHEEL... --out containers.tar.xz --of-a-kind 40 --images 3
    python -m tests.gpu.evidence_run predict ARTIFACT... --target 90@580.159.04 --out predictions.json
    (commit predictions.json; then, on the machine with the GPU)
    python -m tests.gpu.evidence_run run ARTIFACT... --predictions predictions.json --out DIR --jobs 4
    python -m tests.gpu.evidence_run overhead ARTIFACT --out DIR
    python -m tests.gpu.evidence_run situations ARTIFACT --compat /usr/local/cuda/compat --out DIR

``run`` compares with the predictions of the file, not with ones made on the spot, and ends with 1 when a container did
something else. It needs Python 3.11 or newer and the wheel ``backports.zstd``; ``isal`` and ``lz4`` if they are there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.gpu.forecast import Forecaster
from pipeline.gpu.load import load_modules
from pipeline.gpu.settings import LoadSettings
from pipeline.inventory import take_inventory
from pipeline.policy import load_policy
from pipeline.rules.choice import JitPass
from tests.gpu import extracting
from tests.gpu import overhead as timing

if TYPE_CHECKING:
    from pipeline.gpu.report import LoadReport, Observed
    from pipeline.model.lane import Target
    from pipeline.model.paths import MemberPath
    from pipeline.policy import Policy

NAMES = {JitPass.AS_IS: "as_is", JitPass.FORBIDDEN: "jit_forbidden", JitPass.FORCED: "jit_forced"}


def main() -> int:
    """Do one of the steps."""
    arguments = parse()
    status: int = arguments.step(arguments)
    return status


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="evidence from a real GPU")
    steps = parser.add_subparsers(required=True)
    for step, several in ((extract, True), (predict, True), (run, True), (overhead, False), (situations, False)):
        sub = steps.add_parser(step.__name__)
        sub.set_defaults(step=step)
        sub.add_argument("artifacts", metavar="ARTIFACT", type=Path, nargs="+" if several else 1)
        sub.add_argument("--out", type=Path, required=True)
        if step is extract:
            sub.add_argument("--of-a-kind", type=int, default=40, help="containers of which the same is foreseen")
            sub.add_argument("--failing", type=int, default=15, help="of those, where they are foreseen to fail")
            sub.add_argument("--bytes-of-a-kind", type=int, default=800_000)
            sub.add_argument("--largest", type=int, default=400_000, help="larger containers stay behind")
            sub.add_argument("--images", type=int, default=0, help="single images of each architecture")
        if step in {extract, predict}:
            sub.add_argument("--target", default="90@580.159.04", help="SM@DRIVER of the machine to come")
        if step is predict:
            sub.add_argument(
                "--deep", action="store_true", help="look into payloads too: for bundles damaged on purpose"
            )
        if step is run:
            sub.add_argument("--predictions", type=Path, required=True)
            sub.add_argument("--jobs", type=int, default=1)
            sub.add_argument("--fresh", action="store_true")
        if step is overhead:
            sub.add_argument("--repetitions", type=int, default=7)
        if step is situations:
            sub.add_argument("--compat", type=Path, help="a folder with an older libcuda")
    return parser.parse_args()


# before the run


def extract(arguments: argparse.Namespace) -> int:
    """Copy some containers of each kind out of large artifacts, to travel alone."""
    policy = load_policy()
    wish = extracting.Wish(
        arguments.of_a_kind, arguments.failing, arguments.bytes_of_a_kind, arguments.largest, arguments.images
    )
    target = policy.parse_target(arguments.target)
    for line in extracting.extract(arguments.artifacts, arguments.out, target, policy, wish):
        sys.stdout.write(f"{line}\n")
    return 0


def predict(arguments: argparse.Namespace) -> int:
    """Write down what every container will answer."""
    policy = load_policy()
    target = policy.parse_target(arguments.target)
    document = {
        "kind": "predictions",
        "target": target.label,
        "tool": __version__,
        "policy_date": policy.date,
        "written": now(),
        "artifacts": [foreseen(artifact, target, policy, deep=arguments.deep) for artifact in arguments.artifacts],
    }
    write(arguments.out, document)
    counts = Counter(row[1] for artifact in document["artifacts"] for row in artifact["containers"])  # type: ignore[index]
    sys.stdout.write(f"{sum(counts.values())} containers: {dict(counts)}\n")
    return 0


def foreseen(artifact: Path, target: Target, policy: Policy, *, deep: bool) -> dict[str, Any]:
    """Rows of path inside the artifact, and the results of the three passes."""
    inventory = take_inventory(artifact, deep=deep)
    rows = [
        [inside(item.path), *(item.forecast.of(jit) for jit in JitPass)]
        for item in Forecaster.of(inventory, target, policy, None).containers(inventory)
        if item.forecast is not None
    ]
    return {"name": artifact.name, "sha256": inventory.sha256, "containers": rows}


def inside(path: MemberPath) -> str:
    return "!/".join(path.parts[1:])


# the run


def run(arguments: argparse.Namespace) -> int:
    """Load, and compare with what was written down."""
    written = json.loads(arguments.predictions.read_text())
    known = {artifact["sha256"]: artifact for artifact in written["artifacts"]}
    wrong = 0
    for artifact in arguments.artifacts:
        settings = LoadSettings(environment=os.environ, jobs=arguments.jobs, fresh=arguments.fresh)
        report = load_modules(artifact, load_policy, settings)
        if report.sha256 not in known:
            sys.stdout.write(f"{artifact.name}: no prediction was written for {report.sha256}\n")
            return 1
        result = compared(report, known[report.sha256]) | {"predictions_written": written["written"]}
        result |= {"predicted_for": written["target"], "jobs": arguments.jobs, "fresh": arguments.fresh}
        write(arguments.out / f"load-{artifact.name}.json", result)
        wrong += len(result["disagreements"])
        sys.stdout.write(
            f"{artifact.name}: {len(report.observed)} containers, {len(result['disagreements'])} disagree\n"
        )
    return 1 if wrong else 0


def compared(report: LoadReport, artifact: dict[str, Any]) -> dict[str, Any]:
    """Counts of predicted against observed in each pass; containers that disagree one by one."""
    expected = {row[0]: dict(zip(JitPass, row[1:], strict=True)) for row in artifact["containers"]}
    table = {
        name: Counter(f"{expected[inside(item.path)][jit]} -> {item.answers[jit].result}" for item in report.observed)
        for jit, name in NAMES.items()
    }
    different = [item for item in report.observed if contradicts(item, expected[inside(item.path)])]
    compiled = [item for item in report.observed if item.jit_seconds is not None]
    return {
        "kind": "load-evidence",
        "artifact": {"name": artifact["name"], "sha256": report.sha256, "size": report.size},
        "machine": report.machine.to_json(),
        "finished": now(),
        "seconds": round(report.seconds, 3),
        "driver_seconds": {NAMES[jit]: round(value, 3) for jit, value in report.driver_seconds.items()},
        "containers": len(report.observed),
        "left_out": dict(Counter(item.role.value for item in report.left_out)),
        "not_seen": sorted(expected.keys() - {inside(item.path) for item in report.observed}),
        "predicted_and_observed": {name: dict(counts.most_common()) for name, counts in table.items()},
        "disagreements": [told(item, expected[inside(item.path)]) for item in different],
        "repeated_with_another_result": [told(item, None) for item in report.observed if varied(item)],
        "jit": {
            "containers": len(compiled),
            "seconds": round(sum(item.jit_seconds or 0 for item in compiled), 3),
            "longest": round(max((item.jit_seconds or 0 for item in compiled), default=0), 3),
            "first_own_word_and_call": [
                [item.answers[JitPass.AS_IS].jit_seconds, item.answers[JitPass.AS_IS].seconds] for item in compiled[:5]
            ],
        },
    }


def contradicts(item: Observed, expected: dict[JitPass, str | None]) -> bool:
    return any(expected[jit] not in {None, answer.result} for jit, answer in item.answers.items())


def varied(item: Observed) -> bool:
    return any(" at first (" in answer.detail for answer in item.answers.values())


def told(item: Observed, expected: dict[JitPass, str | None] | None) -> dict[str, Any]:
    return {
        "path": inside(item.path),
        "sha256": item.sha256,
        "observed": {NAMES[jit]: answer.result for jit, answer in item.answers.items()},
        "predicted": {NAMES[jit]: result for jit, result in expected.items()} if expected else None,
        "detail": {NAMES[jit]: answer.detail[:300] for jit, answer in item.answers.items() if answer.detail},
    }


# how much this program costs beside the driver


def overhead(arguments: argparse.Namespace) -> int:
    """Wall time of ``load`` against a bare loop of cuModuleLoadData over the same containers."""
    result = {"kind": "load-overhead", "finished": now(), "what_is_timed": timing.__doc__}
    result |= timing.measured(arguments.artifacts[0], arguments.repetitions)
    write(arguments.out / "overhead.json", result)
    sys.stdout.write(f"overhead {result['overhead']}, medians {result['medians']}\n")
    return 0


# drivers that are not what they should be


def situations(arguments: argparse.Namespace) -> int:
    """The command line where the driver or the device is not there: status and words."""
    artifact = arguments.artifacts[0]
    unknown = "00000000-0000-0000-0000-000000000001"
    cases: list[tuple[str, dict[str, str], list[str]]] = [
        ("as it is", {}, []),
        ("CUDA_VISIBLE_DEVICES empty", {"CUDA_VISIBLE_DEVICES": ""}, []),
        ("index 7", {}, ["--device", "7"]),
        ("unknown GPU UUID", {}, ["--device", f"GPU-{unknown}"]),
        ("unknown MIG UUID", {}, ["--device", f"MIG-{unknown}"]),
    ]
    if arguments.compat is not None:
        before = f"{arguments.compat}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        cases.append(("forward-compatibility libcuda first", {"LD_LIBRARY_PATH": before}, []))
    rows = [observed(artifact, name, variables, words) for name, variables, words in cases]
    write(arguments.out / "situations.json", {"kind": "load-situations", "finished": now(), "situations": rows})
    for row in rows:
        sys.stdout.write(f"{row['situation']}: {row['status']} {row['stderr'][:200]}\n")
    return 0


def observed(artifact: Path, name: str, variables: dict[str, str], words: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "load", artifact, "--format", "json", *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    machine = json.loads(done.stdout)["machine"] if done.stdout else None
    return {"situation": name, "status": done.returncode, "stderr": done.stderr.strip()[:600], "machine": machine}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def write(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
