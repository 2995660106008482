"""``audit --rehearse`` as other programs meet it, and the check ``rehearse@SM@DRIVER`` as a release does."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from pipeline.build.settings import BuildSettings, Network
from pipeline.errors import ExitStatus
from pipeline.model.artifact import Artifact
from pipeline.model.finding import Status
from pipeline.model.lane import Proof, Target
from pipeline.model.versions import DriverVersion
from pipeline.policy import load_policy
from pipeline.report.progress import Talk
from pipeline.resources import find_resources
from pipeline.stages.rehearse import rehearse_lane
from pipeline.stages.run import CHECKS
from pipeline.stages.street import Engines, Street
from tests.rehearse.assemblers import fetch, ptx
from tests.rules.forge import Elf, build, container
from tests.values import ORIGIN, cuda_lane

if TYPE_CHECKING:
    from pipeline.stages.check import Observation

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "audit.schema.json").read_text())
NOWHERE = "https://registry.invalid/simple"
CHECK = "rehearse@61@535.54.03"

pytestmark = pytest.mark.network


def offline_state(folder: Path, *branches: str) -> Path:
    """A state directory that holds the assemblers of those drivers, as a run with a network leaves it."""
    policy = load_policy()
    for branch in branches:
        row = policy.assembler(policy.parse_target(f"61@{branch}").driver, "61", "x86_64")
        place = folder / "cache" / "sha256" / row.sha256
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(fetch(row), place)
    return folder


def audit(*arguments: str | Path) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "pipeline", "audit", *map(str, arguments)]
    environment = {**os.environ, "PIP_INDEX_URL": NOWHERE}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def document(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    status, out, _ = audit(*arguments, "--format", "json")
    parsed: dict[str, Any] = json.loads(out)
    jsonschema.validate(parsed, SCHEMA)
    return status, parsed


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return offline_state(tmp_path / "state", "535", "580")


def written(folder: Path, body: str = "") -> Path:
    path = folder / "k.ptx"
    path.write_text(ptx(body))
    return path


def test_the_document_of_a_refusal(tmp_path: Path, state: Path) -> None:
    path = written(tmp_path, "tanh.approx.f32 %f1, %f2;")
    status, found = document(path, "--target", "61@535", "--target", "61@580", "--rehearse", "--state", state)
    assert status == 1
    assert [target["causes"] for target in found["targets"]] == [["jit-feature"]] * 2
    first, second = found["rehearsal"]["targets"]
    assert (first["assembler"]["name"], first["assembler"]["driver_cuda"]) == ("ptxas 12.2.140", "12.2")
    assert (second["assembler"]["name"], second["assembler"]["driver_cuda"]) == ("ptxas 12.9.86", "13.0")
    assert first["results"] == {"refused": 1}
    (complaint,) = first["containers"][0]["complaints"]
    assert complaint == {
        "rule": "jit-feature",
        "text": "Feature 'tanh' requires .target sm_75 or higher",
        "line": 8,
        "kernel": "kern",
    }
    outcomes = {outcome["rule"]: outcome for outcome in found["outcomes"]}
    assert outcomes["jit-feature"]["status"] == "fail"
    assert outcomes["rehearsal"] == {"rule": "rehearsal", "status": "pass", "examined": 2, "reason": None}


def test_the_healthy_twin_in_words(tmp_path: Path, state: Path) -> None:
    status, out, err = audit(written(tmp_path), "--target", "61@535", "--rehearse", "--state", state)
    assert status == 0
    assert "rehearsed  61@535.54.03  1 accepted of 1 PTX by ptxas 12.2.140; JIT " in out
    assert "rehearse" in err, "progress is told on stderr"


def test_without_the_option_nothing_is_assembled_and_nothing_said_to_be(tmp_path: Path) -> None:
    status, found = document(written(tmp_path, "call nothing;"), "--target", "61@535")
    assert (status, "rehearsal" in found) == (0, False)
    outcomes = {outcome["rule"]: outcome["status"] for outcome in found["outcomes"]}
    assert (outcomes["jit-feature"], outcomes["rehearsal"]) == ("pass", "not-applicable")
    status, found = document(written(tmp_path, "tanh.approx.f32 %f1, %f2;"), "--target", "61@535")
    assert (status, found["targets"][0]["causes"], "rehearsal" in found) == (1, ["jit-feature"], False)


def test_offline_without_the_assembler_is_unknown(tmp_path: Path) -> None:
    path = written(tmp_path)
    status, found = document(path, "--target", "61@535", "--rehearse", "--state", tmp_path / "empty")
    assert status == 1
    assert found["targets"][0]["verdict"] == "unknown"
    assert found["rehearsal"]["targets"][0]["results"] == {"not-fetched": 1}
    assert found["rehearsal"]["targets"][0]["containers"][0]["reason"]


def test_a_damaged_assembler_in_the_cache_is_not_run(tmp_path: Path, state: Path) -> None:
    for wheel in (state / "cache" / "sha256").iterdir():
        wheel.write_bytes(wheel.read_bytes()[:-1] + b"x")
    status, found = document(written(tmp_path), "--target", "61@535", "--rehearse", "--state", state)
    assert (status, found["rehearsal"]["targets"][0]["results"]) == (1, {"not-fetched": 1})


@pytest.mark.parametrize(
    "arguments",
    [(), ("--target", "61@535", "--rehearse-seconds", "0"), ("--target", "61@535", "--rehearse-seconds", "x")],
)
def test_what_cannot_be_asked(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert audit(written(tmp_path), "--rehearse", *arguments)[0] == 2


def look(path: Path, state: Path) -> Observation:
    environment = dict(os.environ)
    street = Street(
        state=state,
        evidence=state / "evidence",
        talk=Talk(io.StringIO(), environment),
        clock=lambda: datetime(2026, 11, 30, tzinfo=UTC),
        environment=environment,
        engines=Engines(environment),
        build=BuildSettings(find_resources(), Network(index_url=NOWHERE), 0),
        gpus=tuple,
        origin=ORIGIN,
    )
    target = Target(61, DriverVersion("535.54.03"), suffices=Proof.REHEARSED)
    lane = cuda_lane(required=("audit", CHECK), targets=(target,))
    assert target.rehearsal == CHECK
    assert CHECKS["rehearse"] is rehearse_lane
    return rehearse_lane(lane, Artifact("a", path, "0" * 64, 1, "0" * 64), CHECK, street)


def library(folder: Path, text: str) -> Path:
    return build(Elf("libk.so", [container("12.2", text)]), folder)


def test_the_check_passes_and_its_record_says_by_what(tmp_path: Path, state: Path) -> None:
    seen = look(library(tmp_path, "ptx:60"), state)
    assert (seen.outcome.status, seen.outcome.examined, seen.status) == (Status.PASS, 1, ExitStatus.PASS)
    assert seen.document["rehearsal"]["targets"][0]["assembler"]["name"] == "ptxas 12.2.140"
    assert seen.machine.device == "cpu"


def test_the_check_fails_for_the_reason(tmp_path: Path, state: Path) -> None:
    seen = look(written(tmp_path, "tanh.approx.f32 %f1, %f2;"), state)
    assert (seen.outcome.status, seen.status) == (Status.FAIL, ExitStatus.REFUSED)
    assert (seen.outcome.reason or "").startswith("jit-feature: PTX 7.0 for compute_61: Feature 'tanh' requires")


def test_the_check_does_not_apply_to_machine_code(tmp_path: Path, state: Path) -> None:
    seen = look(library(tmp_path, "61"), state)
    assert (seen.outcome.status, seen.status) == (Status.NOT_APPLICABLE, ExitStatus.PASS)


def test_the_check_is_the_machines_failure_without_a_network(tmp_path: Path) -> None:
    seen = look(library(tmp_path, "ptx:60"), tmp_path / "empty")
    assert (seen.outcome.status, seen.status) == (Status.ERROR, ExitStatus.INFRASTRUCTURE)
    assert seen.worth_another_look
