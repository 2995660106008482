"""A release shared between machines: each makes its own checks, records no others, and is well when its own passed."""

from __future__ import annotations

import io
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pipeline.build.settings import BuildSettings, Network
from pipeline.errors import ExitStatus, InfrastructureError
from pipeline.evidence import read
from pipeline.machine import InstalledGpu
from pipeline.model.finding import Outcome, Status
from pipeline.model.lane import EvidenceTerms, Lane, Plan, Target
from pipeline.model.versions import DriverVersion
from pipeline.report.progress import Talk
from pipeline.resources import find_resources
from pipeline.stages import run as stage
from pipeline.stages.check import Observation, needs_gpu
from pipeline.stages.run import Part, run_plan
from pipeline.stages.street import Engines, Street
from tests.values import A30, CPU, ORIGIN, bundle, cpu_lane, cuda_lane

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pipeline.evidence.envelope import Keyring, SigningKey
    from pipeline.model.artifact import Artifact

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TARGETS = (Target(80, DriverVersion("535.288.01")), Target(90, DriverVersion("580.65.06")))
GPU_CHECKS = tuple(check for target in TARGETS for check in target.checks)
CUDA = cuda_lane(targets=TARGETS, required=("audit", *GPU_CHECKS))
HERE = InstalledGpu(0, "A30", "GPU-1", 80, "535.288.01")
ELSEWHERE = replace(HERE, sm=61)


class Machine:
    """A street on which each kind of check ends as ``ends`` says, by a pass where it says nothing."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *gpus: InstalledGpu, **ends: Status) -> None:
        self.street = Street(
            state=folder,
            evidence=folder / "evidence",
            talk=Talk(io.StringIO(), {}),
            clock=lambda: NOW,
            environment={},
            engines=Engines({}),
            build=BuildSettings(find_resources(beside=folder), Network(), 0),
            gpus=lambda: gpus,
            origin=ORIGIN,
        )
        self.built: list[str] = []
        self.artifacts: Mapping[str, Artifact] = {}
        self._ends = ends
        monkeypatch.setattr(stage, "CHECKS", dict.fromkeys(stage.CHECKS, self._look))
        monkeypatch.setattr(stage, "build_bundle", self._build)
        monkeypatch.setattr(stage, "bundle_of", self._there)
        monkeypatch.setattr("pipeline.stages.gate.bundle_of", self._there)

    def run(self, part: Part, *lanes: Lane) -> ExitStatus:
        """The status of a run; bundles are there for all lanes."""
        self.artifacts = {lane.id: bundle(self.street.state, lane, lane.id.encode()) for lane in lanes}
        plan = Plan(self.street.state / "matrix.yaml", lanes, ())
        return run_plan(plan, self.street, chosen=(), part=part).status

    def records(self, lane: Lane) -> set[str]:
        return {record.check for record in read([self.street.evidence], self.artifacts[lane.id].sha256, now=NOW)}

    def _look(self, _lane: Lane, _artifact: Artifact, check: str, _street: Street) -> Observation:
        ended = self._ends.get(check.partition("@")[0], Status.PASS)
        status = ExitStatus.PASS if ended in {Status.PASS, Status.SKIPPED} else ExitStatus.REFUSED
        reason = None if ended is Status.PASS else "because"
        machine = A30 if needs_gpu(check) else CPU
        return Observation(Outcome(rule=check, status=ended, examined=1, reason=reason), machine, {}, status)

    def _build(self, lane: Lane, _street: Street) -> Artifact:
        self.built.append(lane.id)
        return self.artifacts[lane.id]

    def _there(self, lane: Lane, *_: object, **__: object) -> Artifact | None:
        return self.artifacts.get(lane.id)


@pytest.mark.parametrize("check", ["load@80@535.288.01", "smoke@90@580"])
def test_a_gpu_is_what_load_and_smoke_need(check: str) -> None:
    assert needs_gpu(check)
    for other in ("audit", "diff", "smoke@cpu", "rehearse@80@535.288.01", "jit@80@535.288.01"):
        assert not needs_gpu(other)


def test_a_hosted_machine_builds_and_leaves_gpus_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch)
    assert machine.run(Part.HOSTED, CUDA, cpu_lane()) is ExitStatus.PASS
    assert machine.built == [CUDA.id, "cpu"]
    assert machine.records(CUDA) == {"audit"}
    assert machine.run(Part.ALL, CUDA, cpu_lane()) is ExitStatus.REFUSED, "the gate wants the GPU's word"


@pytest.mark.parametrize("ended", [Status.FAIL, Status.SKIPPED, Status.ERROR])
def test_a_hosted_machine_is_not_well_when_its_own_check_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: Status
) -> None:
    assert Machine(tmp_path, monkeypatch, smoke=ended).run(Part.HOSTED, CUDA, cpu_lane()) is ExitStatus.REFUSED


def test_a_gpu_machine_proves_its_own_and_builds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A skip of what another machine proves would be newer than that machine's pass, and would count."""
    machine = Machine(tmp_path, monkeypatch, HERE)
    assert machine.run(Part.GPU, CUDA) is ExitStatus.PASS
    assert machine.built == []
    assert machine.records(CUDA) == set(TARGETS[0].checks)


def test_a_gpu_machine_is_not_well_when_its_gpu_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Machine(tmp_path, monkeypatch, HERE, smoke=Status.FAIL).run(Part.GPU, CUDA) is ExitStatus.REFUSED


def test_a_gpu_machine_without_the_bundle_is_not_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch, HERE)
    monkeypatch.setattr(stage, "bundle_of", lambda *_: None)
    assert machine.run(Part.GPU, CUDA) is ExitStatus.REFUSED


def test_what_has_nothing_for_this_machine_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_gpus = replace(CUDA, required=GPU_CHECKS)
    assert Machine(tmp_path, monkeypatch).run(Part.HOSTED, only_gpus) is ExitStatus.PASS
    assert Machine(tmp_path, monkeypatch, HERE).run(Part.GPU, CUDA, cpu_lane()) is ExitStatus.PASS


@pytest.mark.parametrize("gpus", [(), (ELSEWHERE,)])
def test_a_machine_with_no_such_gpu_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpus: tuple[InstalledGpu, ...]
) -> None:
    with pytest.raises(InfrastructureError, match="no GPU of this machine"):
        Machine(tmp_path, monkeypatch, *gpus).run(Part.GPU, CUDA)


def test_lanes_that_need_no_gpu_are_nothing_to_prove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InfrastructureError, match="what is asked for"):
        Machine(tmp_path, monkeypatch, HERE).run(Part.GPU, cpu_lane())


@pytest.mark.parametrize(("trusts", "warned"), [(("key.pub",), False), (("other.pub",), True), ((), True)])
def test_a_key_that_nobody_trusts_is_told_before_it_signs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    keys: tuple[SigningKey, Keyring],
    trusts: tuple[str, ...],
    warned: bool,
) -> None:
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "other.pem"], cwd=tmp_path, check=True)
    subprocess.run(["openssl", "pkey", "-in", "other.pem", "-pubout", "-out", "other.pub"], cwd=tmp_path, check=True)
    told, lane = io.StringIO(), cpu_lane()
    machine = Machine(tmp_path, monkeypatch)
    machine.artifacts = {lane.id: bundle(tmp_path, lane)}
    plan = Plan(tmp_path / "matrix.yaml", (lane,), (), EvidenceTerms(keys=tuple(tmp_path / name for name in trusts)))
    street = replace(machine.street, signing=keys[0], talk=Talk(told, {}))
    assert run_plan(plan, street, chosen=()).status is ExitStatus.PASS
    assert ("is none of evidence.keys" in told.getvalue()) is warned
