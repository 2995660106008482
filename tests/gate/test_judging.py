"""The gate says yes only to complete, fitting evidence; each way of saying no has its twin here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.gate import Standing, approve, judge
from pipeline.model.finding import Status
from pipeline.model.lane import Platform, SmokeSettings, Waiver
from tests.values import A30, CPU, TERMS, bundle, cpu_lane, cuda_lane, record

if TYPE_CHECKING:
    from pathlib import Path


def test_a_lane_with_every_required_check_passed_is_approved(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    evidence = [record(lane, artifact, "audit"), record(lane, artifact, "smoke@cpu")]
    verdict = judge(lane, artifact, evidence, terms=TERMS)
    assert verdict.approved
    assert verdict.to_json()["inferred"] == ["audit"]
    assert verdict.to_json()["proven"] == ["smoke@cpu"]
    assert approve(verdict).artifact == artifact


def test_a_gpu_check_seen_on_that_gpu_and_driver_is_proven(tmp_path: Path) -> None:
    lane = cuda_lane()
    artifact = bundle(tmp_path, lane)
    smoke = record(lane, artifact, "smoke@80@535.288.01", machine=A30)
    assert judge(lane, artifact, [record(lane, artifact, "audit"), smoke], terms=TERMS).approved


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (CPU, "seen on the CPU"),
        (replace(A30, driver="550.54.14"), "seen on 80@550.54.14"),
        (replace(A30, sm=86), "seen on 86@535.288.01"),
    ],
)
def test_a_smoke_elsewhere_is_no_evidence_for_the_target(tmp_path: Path, machine: object, words: str) -> None:
    lane = cuda_lane()
    artifact = bundle(tmp_path, lane)
    smoke = replace(record(lane, artifact, "smoke@80@535.288.01"), machine=machine)  # type: ignore[arg-type]
    verdict = judge(lane, artifact, [record(lane, artifact, "audit"), smoke], terms=TERMS)
    assert not verdict.approved
    assert words in verdict.checks[1].reason


def test_a_smoke_on_another_instruction_set_is_no_evidence(tmp_path: Path) -> None:
    lane = cpu_lane(platform=Platform.AARCH64)
    artifact = bundle(tmp_path, lane)
    evidence = [record(lane, artifact, "audit"), record(lane, artifact, "smoke@cpu")]
    verdict = judge(lane, artifact, evidence, terms=TERMS)
    assert verdict.checks[1].standing is Standing.MISSING
    assert verdict.checks[1].reason == "seen on x86_64, which is no evidence for aarch64"
    there = replace(CPU, platform="aarch64")
    evidence = [record(lane, artifact, check, machine=there) for check in lane.required]
    assert judge(lane, artifact, evidence, terms=TERMS).approved


def test_a_smoke_on_a_gpu_is_no_evidence_for_the_cpu(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    evidence = [record(lane, artifact, "audit"), record(lane, artifact, "smoke@cpu", machine=A30)]
    assert not judge(lane, artifact, evidence, terms=TERMS).approved


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PASS])
def test_anything_but_a_pass_refuses(tmp_path: Path, status: Status) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    evidence = [record(lane, artifact, "audit"), record(lane, artifact, "smoke@cpu", status=status)]
    verdict = judge(lane, artifact, evidence, terms=TERMS)
    assert not verdict.approved
    with pytest.raises(ValueError, match="not approved"):
        approve(verdict)


def test_a_skipped_check_is_missing_not_failed(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    evidence = [record(lane, artifact, "audit"), record(lane, artifact, "smoke@cpu", status=Status.SKIPPED)]
    assert judge(lane, artifact, evidence, terms=TERMS).to_json()["missing"] == ["smoke@cpu"]


def test_a_missing_check_refuses(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    verdict = judge(lane, artifact, [record(lane, artifact, "audit")], terms=TERMS)
    assert verdict.checks[1].standing is Standing.MISSING
    assert not verdict.approved


def test_no_bundle_refuses_and_says_why() -> None:
    verdict = judge(cpu_lane(), None, [], terms=TERMS, why_no_artifact="not built: no engine")
    assert not verdict.approved
    assert verdict.to_json()["reasons"] == {"audit": "not built: no engine", "smoke@cpu": "not built: no engine"}


def test_evidence_about_other_bytes_does_not_count(tmp_path: Path) -> None:
    lane = cpu_lane()
    other = bundle(tmp_path, lane, b"other bytes")
    evidence = [record(lane, other, "audit"), record(lane, other, "smoke@cpu")]
    assert not judge(lane, bundle(tmp_path, lane), evidence, terms=TERMS).approved


def test_evidence_for_another_promise_does_not_count(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    evidence = [record(lane, artifact, "audit"), record(lane, artifact, "smoke@cpu")]
    changed = replace(lane, smoke=SmokeSettings(command=("server", "--other")))
    verdict = judge(changed, artifact, evidence, terms=TERMS)
    assert [check.standing for check in verdict.checks] == [Standing.INFERRED, Standing.MISSING]


def test_the_newest_record_decides_both_ways(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    audit, good = record(lane, artifact, "audit"), record(lane, artifact, "smoke@cpu")
    bad = record(lane, artifact, "smoke@cpu", status=Status.FAIL)
    assert judge(lane, artifact, [audit, bad, good], terms=TERMS).approved
    assert not judge(lane, artifact, [audit, good, bad], terms=TERMS).approved


def test_a_lane_that_requires_nothing_is_never_approved(tmp_path: Path) -> None:
    lane = cpu_lane(required=())
    assert not judge(lane, bundle(tmp_path, lane), [], terms=TERMS).approved


@pytest.mark.parametrize(("expires", "approved"), [("2026-01-02", True), ("2026-01-01", False)])
def test_a_waiver_counts_until_it_expires(tmp_path: Path, expires: str, approved: bool) -> None:
    waiver = Waiver("smoke@80@535.288.01", "the runner is being repaired", "ops", expires)
    lane = cuda_lane(waivers=(waiver,))
    artifact = bundle(tmp_path, lane)
    verdict = judge(lane, artifact, [record(lane, artifact, "audit")], terms=TERMS)
    assert verdict.approved is approved
    assert verdict.to_json()["waived"] == (["smoke@80@535.288.01"] if approved else [])


def test_an_expired_waiver_says_so(tmp_path: Path) -> None:
    waiver = Waiver("smoke@80@535.288.01", "the runner is being repaired", "ops", "2026-01-01")
    lane = cuda_lane(waivers=(waiver,))
    artifact = bundle(tmp_path, lane)
    verdict = judge(lane, artifact, [record(lane, artifact, "audit")], terms=TERMS)
    assert "the waiver of ops expired on 2026-01-01" in verdict.checks[1].reason
