"""Proven, inferred, missing and failed stay apart; each has the twin that is the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.gate import LaneVerdict, Standing, TargetStanding, judge
from pipeline.model.finding import Status
from pipeline.model.lane import Proof, Target, Waiver
from pipeline.model.versions import DriverVersion
from tests.values import A30, CPU, TERMS, bundle, cuda_lane, record

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.artifact import Artifact
    from pipeline.model.evidence import Evidence, Machine
    from pipeline.model.lane import Lane

LABEL = "80@535.288.01"
PROMISED = Target(80, DriverVersion("535.288.01"), gpu="A30")
BOTH = ("audit", f"load@{LABEL}", f"smoke@{LABEL}")
LANE = cuda_lane(required=BOTH)
MODEST = cuda_lane(required=("audit",), targets=(replace(PROMISED, suffices=Proof.INFERRED),))


def audit(lane: Lane, artifact: Artifact, verdict: str = "pass", **changes: Any) -> Evidence:
    document = {
        "targets": [{"sm": "80", "driver": "535.288.01", "verdict": verdict}],
        "outcomes": [{"rule": "fatbin-codec", "status": "pass"}, {"rule": "ptx-isa", "status": "not-applicable"}],
    }
    return record(lane, artifact, "audit", document=document, **changes)


def proofs(lane: Lane, artifact: Artifact, machine: Machine = A30, **changes: Any) -> list[Evidence]:
    return [record(lane, artifact, check, machine=machine, **changes) for check in PROMISED.checks]


def judged(lane: Lane, artifact: Artifact, *evidence: Evidence) -> tuple[LaneVerdict, TargetStanding]:
    verdict = judge(lane, artifact, evidence, terms=TERMS)
    return verdict, verdict.targets[0]


def test_a_target_seen_on_its_gpu_and_branch_is_proven_and_says_where(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, LANE)
    verdict, target = judged(LANE, artifact, audit(LANE, artifact), *proofs(LANE, artifact))
    assert verdict.approved
    assert target.standing is Standing.PROVEN
    seen = target.to_json()["proven_on"]
    assert [(row["check"], row["gpu"], row["driver"]) for row in seen] == [
        (f"load@{LABEL}", "A30", "535.288.01"),
        (f"smoke@{LABEL}", "A30", "535.288.01"),
    ]
    assert "uuid" not in str(seen)


@pytest.mark.parametrize("driver", ["535.104.05", "535.54.03"])
def test_another_driver_of_the_branch_proves_it(tmp_path: Path, driver: str) -> None:
    artifact = bundle(tmp_path, LANE)
    evidence = proofs(LANE, artifact, replace(A30, driver=driver))
    _, target = judged(LANE, artifact, audit(LANE, artifact), *evidence)
    assert target.standing is Standing.PROVEN
    assert target.to_json()["proven_on"][0]["driver"] == driver


@pytest.mark.parametrize(
    "machine",
    [
        replace(A30, driver="550.54.14"),
        replace(A30, driver="530.30.02"),
        replace(A30, sm=86),
        replace(A30, driver="five"),
        CPU,
    ],
    ids=["newer branch", "older branch", "another SM", "no driver's name", "CPU"],
)
def test_another_branch_or_gpu_proves_nothing(tmp_path: Path, machine: Machine) -> None:
    artifact = bundle(tmp_path, LANE)
    verdict, target = judged(LANE, artifact, audit(LANE, artifact), *proofs(LANE, artifact, machine))
    assert not verdict.approved
    assert target.standing is Standing.INFERRED
    assert "which is no evidence for" in target.reason


def test_a_pass_on_a_newer_driver_counts_for_what_it_is(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, LANE)
    newer = proofs(LANE, artifact, replace(A30, driver="580.65.06"))
    _, target = judged(LANE, artifact, audit(LANE, artifact), *newer)
    assert target.elsewhere == ("80@580.65.06",)


def test_one_of_two_checks_is_no_proof(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, LANE)
    load, _ = proofs(LANE, artifact)
    verdict, target = judged(LANE, artifact, audit(LANE, artifact), load)
    assert not verdict.approved
    assert target.standing is Standing.INFERRED
    assert target.reason == f"smoke@{LABEL}: no evidence"


def test_what_suffices_decides_whether_an_inferred_target_is_released(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, LANE)
    refused, wanted = judged(LANE, artifact, audit(LANE, artifact))
    approved, modest = judged(MODEST, artifact, audit(MODEST, artifact))
    assert (refused.approved, approved.approved) == (False, True)
    assert wanted.standing is modest.standing is Standing.INFERRED
    assert modest.rules == ("fatbin-codec",), "a rule that did not apply is no ground"


def test_proof_that_nobody_asked_for_is_shown_as_proof(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, MODEST)
    _, target = judged(MODEST, artifact, audit(MODEST, artifact), *proofs(MODEST, artifact))
    assert target.standing is Standing.PROVEN


def test_a_failure_that_nobody_asked_for_refuses_all_the_same(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, MODEST)
    failed = proofs(MODEST, artifact, status=Status.FAIL)[0]
    verdict, target = judged(MODEST, artifact, audit(MODEST, artifact), failed)
    assert not verdict.approved
    assert verdict.to_json()["failed"] == [f"load@{LABEL}"]
    assert target.standing is Standing.FAILED


def test_a_machine_that_could_not_look_refuses_only_where_it_had_to(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, MODEST)
    broken = proofs(MODEST, artifact, status=Status.ERROR)[0]
    assert judged(MODEST, artifact, audit(MODEST, artifact), broken)[0].approved


@pytest.mark.parametrize("verdict", ["fail", "unknown"])
def test_an_audit_without_a_pass_for_the_target_infers_nothing(tmp_path: Path, verdict: str) -> None:
    artifact = bundle(tmp_path, LANE)
    _, target = judged(LANE, artifact, audit(LANE, artifact, verdict))
    assert target.standing is Standing.MISSING


@pytest.mark.parametrize("document", [{}, {"targets": 3}, {"targets": [3]}, {"targets": [{"sm": "80"}]}])
def test_an_audit_document_of_another_shape_infers_nothing(tmp_path: Path, document: dict[str, Any]) -> None:
    artifact = bundle(tmp_path, LANE)
    _, target = judged(LANE, artifact, record(LANE, artifact, "audit", document=document))
    assert target.standing is Standing.MISSING


def test_a_failed_audit_and_a_missing_one_are_told_apart(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, LANE)
    assert judged(LANE, artifact, audit(LANE, artifact, status=Status.FAIL))[1].standing is Standing.FAILED
    assert judged(LANE, artifact)[1].standing is Standing.MISSING


ERROR = {"rule": "arch-missing", "severity": "error", "observed": "nothing for sm_89", "remedy": "build for it"}


@pytest.mark.parametrize(
    ("targets", "standing", "reason"),
    [
        (["89@550.54.14"], Standing.INFERRED, f"load@{LABEL}: no evidence"),
        (["89@550.54.14", LABEL], Standing.FAILED, "audit: arch-missing: nothing for sm_89; build for it"),
        ([], Standing.FAILED, "audit: arch-missing: nothing for sm_89; build for it"),
        (None, Standing.FAILED, "audit: arch-missing: nothing for sm_89; build for it"),
    ],
    ids=["another target", "this one too", "all targets", "nobody knows which"],
)
def test_an_audit_that_failed_for_another_target_says_so_and_still_refuses(
    tmp_path: Path, targets: list[str] | None, standing: Standing, reason: str
) -> None:
    artifact = bundle(tmp_path, LANE)
    failed = audit(LANE, artifact, status=Status.FAIL)
    failed = replace(failed, document={**failed.document, "findings": [{**ERROR, "targets": targets}]})
    verdict, target = judged(LANE, artifact, failed)
    assert not verdict.approved
    assert (target.standing, target.reason) == (standing, reason)


def test_a_waived_proof_is_waived_and_not_inferred(tmp_path: Path) -> None:
    waivers = tuple(Waiver(check, "the runner is being repaired", "ops", "2026-01-02") for check in PROMISED.checks)
    lane = replace(LANE, waivers=waivers)
    artifact = bundle(tmp_path, lane)
    verdict, target = judged(lane, artifact, audit(lane, artifact))
    assert verdict.approved
    assert target.standing is Standing.WAIVED


def test_without_a_bundle_every_target_is_missing() -> None:
    verdict = judge(LANE, None, [], terms=TERMS)
    assert [target.standing for target in verdict.targets] == [Standing.MISSING]


REHEARSAL = f"rehearse@{LABEL}"
TRIED = cuda_lane(required=("audit", REHEARSAL), targets=(replace(PROMISED, suffices=Proof.REHEARSED),))


def rehearsal(lane: Lane, artifact: Artifact, verdict: str = "pass", **changes: Any) -> Evidence:
    document = {
        "targets": [{"sm": "80", "driver": "535.288.01", "verdict": verdict}],
        "rehearsal": {"targets": [{"assembler": {"name": "ptxas 12.2.140"}}]},
    }
    return record(lane, artifact, REHEARSAL, document=document, **changes)


def test_a_target_whose_ptx_was_accepted_is_rehearsed_and_says_by_what(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, TRIED)
    verdict, target = judged(TRIED, artifact, audit(TRIED, artifact), rehearsal(TRIED, artifact))
    assert verdict.approved
    assert target.standing is Standing.REHEARSED
    assert target.to_json()["rehearsed_with"] == ["ptxas 12.2.140"]
    assert verdict.to_json()["rehearsed"] == [REHEARSAL]
    assert verdict.to_json()["inferred"] == ["audit"]
    assert target.to_json()["proven_on"] == []


def test_a_rehearsal_is_never_a_proof_and_never_goes_without_an_audit(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, LANE)
    verdict, target = judged(LANE, artifact, audit(LANE, artifact), rehearsal(LANE, artifact))
    assert not verdict.approved
    assert target.standing is Standing.REHEARSED
    artifact = bundle(tmp_path, TRIED)
    verdict, target = judged(TRIED, artifact, rehearsal(TRIED, artifact))
    assert not verdict.approved
    assert target.standing is Standing.MISSING


def test_proof_goes_before_rehearsal(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, TRIED)
    evidence = [audit(TRIED, artifact), rehearsal(TRIED, artifact), *proofs(TRIED, artifact)]
    assert judged(TRIED, artifact, *evidence)[1].standing is Standing.PROVEN


@pytest.mark.parametrize("status", [Status.FAIL, Status.ERROR, Status.SKIPPED])
def test_a_rehearsal_that_is_no_pass_refuses(tmp_path: Path, status: Status) -> None:
    artifact = bundle(tmp_path, TRIED)
    tried = rehearsal(TRIED, artifact, status=status)
    verdict, target = judged(TRIED, artifact, audit(TRIED, artifact), tried)
    assert not verdict.approved
    assert target.standing is (Standing.INFERRED if status is Status.SKIPPED else Standing.FAILED)


def test_a_missing_rehearsal_refuses_and_leaves_the_target_inferred(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, TRIED)
    verdict, target = judged(TRIED, artifact, audit(TRIED, artifact))
    assert not verdict.approved
    assert (target.standing, target.reason) == (Standing.INFERRED, f"{REHEARSAL}: no evidence")


def test_where_nothing_is_compiled_the_target_stays_inferred(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, TRIED)
    idle = rehearsal(TRIED, artifact, status=Status.NOT_APPLICABLE)
    verdict, target = judged(TRIED, artifact, audit(TRIED, artifact), idle)
    assert verdict.approved
    assert verdict.to_json()["rehearsed"] == []
    assert verdict.to_json()["inferred"] == ["audit", REHEARSAL]
    assert (target.standing, target.reason) == (Standing.INFERRED, idle.outcome.reason)


def test_nothing_compiled_says_nothing_where_machine_code_does_not_serve_either(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, TRIED)
    idle = rehearsal(TRIED, artifact, "fail", status=Status.NOT_APPLICABLE)
    assert not judged(TRIED, artifact, audit(TRIED, artifact), idle)[0].approved


def test_a_refusal_that_nobody_asked_for_refuses_all_the_same(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, MODEST)
    refused = rehearsal(MODEST, artifact, status=Status.FAIL)
    verdict, target = judged(MODEST, artifact, audit(MODEST, artifact), refused)
    assert not verdict.approved
    assert target.standing is Standing.FAILED
    untried = rehearsal(MODEST, artifact, status=Status.ERROR)
    verdict, target = judged(MODEST, artifact, audit(MODEST, artifact), untried)
    assert verdict.approved
    assert target.standing is Standing.INFERRED
