"""The release workflow on a machine whose GPU is real: what its job ``prove`` sees there is what decides.

    python -m tests.workflow_runs.on_gpu --llama BUNDLE --fixtures FOLDER --target 90@580.159.04 --out DIR

``BUNDLE`` is the CUDA lane of this repository's matrix.yaml, ``FOLDER`` what ``tests.fixture_server.bundles`` wrote.
Writes ``workflow.json``: of each situation what was published, what the gate said of every lane, and the machine behind
every record that a GPU left. Ends with 1 where anything but the good release was published.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.digest import file_sha256
from pipeline.formats.fatbin import MAGIC
from tests.e2e.street import SERVE, write_matrix
from tests.gpu import flips
from tests.workflow_runs import act, edits, github
from tests.workflow_runs.repository import Json, Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

LABELS = ["self-hosted", "linux", "x64", "h200"]
KERNEL = "_Z10unscramblePciPKf"
"""The kernel of the fixture server that writes its answer."""
ON_THE_GPU = {"cpu": ["-ngl", "0"], "cuda": ["-ngl", "all", "-dev", "CUDA0"]}
LLAMA = ["--offline", "--no-webui", "-c", "256", "-np", "1", "{device}"]


@dataclass(frozen=True, slots=True)
class Case:
    """One release: its lanes' bundles by id, what the server is told on a GPU, and whether it may be published."""

    about: str
    bundles: dict[str, Path]
    on_the_gpu: dict[str, list[str]]
    publishes: bool


def cases(llama: Path, fixtures: Path, scratch: Path) -> Iterator[Case]:
    """The good release, and three that only differ in what a GPU would make of them."""
    fixture = fixtures / "fixture-cuda13.0-90-real.tar.gz"
    to_the_cpu = {**ON_THE_GPU, "cuda": ON_THE_GPU["cpu"]}
    yield Case("all good", {"llama": llama, "fixture": fixture}, ON_THE_GPU, publishes=True)
    yield Case(
        "a store of the kernel is lost, which no header tells",
        {"fixture": without_store(fixture, scratch)},
        ON_THE_GPU,
        publishes=False,
    )
    yield Case("built for another GPU", {"fixture": fixtures / "fixture-cuda13.0-89-real.tar.gz"}, ON_THE_GPU, False)
    yield Case("served on the CPU without a word", {"fixture": fixture}, to_the_cpu, publishes=False)


def without_store(bundle: Path, scratch: Path) -> Path:
    """The bundle with the kernel's first store to memory turned into nothing, sizes and digests agreeing."""
    changed = scratch / "damaged.tar.gz"
    with tarfile.open(bundle) as old, tarfile.open(changed, "w:gz") as new:
        for member in old:
            file = old.extractfile(member)
            content = file.read() if file is not None else b""
            if member.name.endswith("bin/llama-server"):
                content = damaged(content)
            new.addfile(member, io.BytesIO(content))
    return changed


def damaged(server: bytes) -> bytes:
    """The first container in which the kernel can be changed, changed."""
    at = server.find(MAGIC)
    while at >= 0:
        try:
            return flips.flipped(server, at, KERNEL, flips.Change.LOST_STORE)[0]
        except flips.DoesNotFit:
            at = server.find(MAGIC, at + 1)
    raise flips.DoesNotFit(KERNEL)


def repository(case: Case, folder: Path, target: str) -> Repository:
    """A repository of these lanes, each promised to run on ``target``, with its workflow."""
    made = Repository(folder / "repository", folder / "published" / "dist")
    made.workflow.parent.mkdir(parents=True)
    sm, _, driver = target.partition("@")
    smoke = {"command": [*SERVE, *LLAMA], "device_arguments": case.on_the_gpu, "ready_timeout": 60, "token_timeout": 20}
    sections: Json = {
        "smoke": {"gpu": smoke},
        "targets": {"promised": {"gpu": "H200", "sm": int(sm), "driver": driver, "runner": LABELS}},
        "publishers": {"dist": {"kind": "directory", "location": str(made.dist)}},
    }
    sources = {name: source(made.folder, path) for name, path in case.bundles.items()}
    write_matrix(made.folder, [lane(name) for name in case.bundles], **sections, sources=sources)
    made.cubingate("workflow", "--kind", "release", "--output", str(made.workflow))
    return made


def source(folder: Path, bundle: Path) -> Json:
    """A bundle that is there, as an entry of ``sources``."""
    shutil.copy(bundle, folder)
    return {"file": bundle.name, "sha256": file_sha256(bundle)}


def lane(name: str) -> Json:
    """What is promised of each bundle."""
    return {
        "id": name,
        "bundle": {"name": name, "version": "1.0"},
        "source": name,
        "flavour": "cuda",
        "toolkit": "13.0.2",
        "archs": "90-real",
        "driver_floor": "580.65.06",
        "targets": ["promised"],
        "smoke": "gpu",
        "glibc": "2.36",
        "host_libraries": ["libcublas.so.13", "libcublasLt.so.13"],
    }


def tried(case: Case, folder: Path, target: str) -> Json:
    """Run the workflow; what came of it."""
    folder.mkdir()
    made = repository(case, folder, target)
    workflow = made.read_workflow()
    edits.for_act(workflow)
    edits.impatient(workflow)
    edits.use_this_tree(workflow, folder)
    made.write_workflow(workflow)
    done = {"name": "prove", "status": "completed", "labels": LABELS, "created_at": "2026-01-01T00:00:00Z"}
    started = time.monotonic()
    with github.served([done]) as api:
        ran = act.run(made, act.Machines(LABELS, here(), {"GITHUB_API_URL": api.address}, {}))
    published = sorted(path.name for path in made.dist.iterdir()) if made.dist.is_dir() else []
    row = {
        "situation": case.about,
        "published": published,
        "as_foreseen": bool(published) is case.publishes,
        "seconds": round(time.monotonic() - started, 1),
        "gate": said(ran),
        "records": list(records(ran)),
    }
    print(f"{case.about}: published {len(published)} files, as foreseen: {row['as_foreseen']}", flush=True)
    if not row["as_foreseen"]:
        print((ran.folder / "act.log").read_text(encoding="utf-8")[-6000:], flush=True)
    return row


def here() -> dict[str, str]:
    """Where this machine keeps what belongs to its driver."""
    return {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}


def said(ran: act.Ran) -> list[Json]:
    """The gate's row of every lane."""
    found = ran.artifacts / "gate" / "gate.json"
    lanes = json.loads(found.read_text(encoding="utf-8"))["lanes"] if found.is_file() else []
    kept = ("id", "sha256", "verdict", "proven", "missing", "failed")
    return [{name: row[name] for name in kept} for row in lanes]


def records(ran: act.Ran) -> Iterator[Json]:
    """Check, outcome and machine of what the job on the GPU left on record."""
    for file in sorted(ran.artifacts.glob("prove-*/evidence/*/*/*.json")):
        predicate: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["predicate"]
        yield {name: predicate[name] for name in ("check", "outcome", "machine", "started", "finished")}


def main() -> int:
    """Run them all; status 1 where something was published that should not be, or the good release was not."""
    parser = argparse.ArgumentParser(description="the release workflow, with a GPU")
    parser.add_argument("--llama", type=Path, required=True)
    parser.add_argument("--fixtures", type=Path, required=True)
    parser.add_argument("--target", required=True, help="what this machine is, SM@DRIVER")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="workflow-") as scratch:
        place = Path(scratch)
        found = [
            tried(case, place / f"run{number}", arguments.target)
            for number, case in enumerate(cases(arguments.llama, arguments.fixtures, place))
        ]
    arguments.out.mkdir(parents=True, exist_ok=True)
    document = {"kind": "workflow", "predicted_for": arguments.target, "situations": found}
    (arguments.out / "workflow.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["as_foreseen"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
