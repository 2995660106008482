"""A record is about the bytes that were looked at, on a machine that could look at them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import CubingateError, EngineUnavailable, ExitStatus, InfrastructureError, Terminated
from pipeline.evidence import read
from pipeline.model.finding import Outcome, Status
from pipeline.model.lane import EvidenceTerms, Lane, Platform
from pipeline.stages.check import Observation, ensure_evidence
from pipeline.stages.gate import Court
from tests.stages.conftest import NOW
from tests.values import CPU, ORIGIN, TERMS, bundle, cpu_lane

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.evidence.envelope import Keyring, SigningKey
    from pipeline.model.artifact import Artifact
    from pipeline.stages.street import Street


def passes(_lane: Lane, _artifact: Artifact, check: str, _street: Street) -> Observation:
    return Observation(Outcome(rule=check, status=Status.PASS, examined=1), CPU, {}, ExitStatus.PASS)


def court(street: Street, ring: Keyring | None = None, **terms: Any) -> Court:
    """As ``run`` has it: its own tables and commit, and the clock of now."""
    wanted = replace(TERMS, now=street.clock(), tables=street.origin.policy, commit=street.origin.commit)
    return Court(street, replace(wanted, wanted=EvidenceTerms(**terms)), ring, ())


def newest(street: Street, artifact: Artifact, check: str = "smoke@cpu") -> Outcome:
    records = read([street.evidence], artifact.sha256, now=NOW)
    return [record.outcome for record in records if record.check == check][-1]


def test_a_pass_is_recorded_and_not_looked_at_again(tmp_path: Path, street: Street) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    assert ensure_evidence(lane, artifact, "smoke@cpu", passes, court(street)) is ExitStatus.PASS
    assert newest(street, artifact).status is Status.PASS

    assert ensure_evidence(lane, artifact, "smoke@cpu", never, court(street)) is ExitStatus.PASS


def never(*_: object) -> Observation:
    raise AssertionError("looked again")


def test_a_pass_that_nobody_signed_is_looked_at_again_by_whoever_can_sign(
    tmp_path: Path, street: Street, keys: tuple[SigningKey, Keyring]
) -> None:
    """Or a lane that passed before signatures were required could never be approved."""
    lane, (key, ring) = cpu_lane(), keys
    artifact = bundle(tmp_path, lane)
    assert ensure_evidence(lane, artifact, "audit", passes, court(street)) is ExitStatus.PASS
    terms: dict[str, Any] = {"signed": True, "keys": (tmp_path / "key.pub",)}
    unsigned = court(street, ring, **terms)
    assert ensure_evidence(lane, artifact, "audit", never, unsigned) is ExitStatus.PASS, "another would be unsigned too"
    signing = court(replace(street, signing=key), ring, **terms)
    assert ensure_evidence(lane, artifact, "audit", passes, signing) is ExitStatus.PASS
    assert [record.signed_by for record in signing.evidence(artifact.sha256)] == [(), (key.id,)]
    assert ensure_evidence(lane, artifact, "audit", never, signing) is ExitStatus.PASS
    stranger = court(replace(street, signing=key), None, **terms)
    assert ensure_evidence(lane, artifact, "audit", never, stranger) is ExitStatus.PASS, "that key is not trusted"


def test_a_pass_that_expired_or_is_of_another_release_is_looked_at_again(tmp_path: Path, street: Street) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    assert ensure_evidence(lane, artifact, "audit", passes, court(street)) is ExitStatus.PASS
    later = replace(street, clock=lambda: NOW + timedelta(days=9))
    released = replace(street, origin=replace(ORIGIN, commit="a" * 40))
    other_tables = replace(street, origin=replace(ORIGIN, policy="0" * 64))
    again = [court(released, same_commit=True), court(other_tables), court(later, max_age_days=8)]
    for each in (court(later, max_age_days=10), court(street, same_commit=True)):
        assert ensure_evidence(lane, artifact, "audit", never, each) is ExitStatus.PASS
    for each in again:
        looks = Looks(GOOD)
        assert ensure_evidence(lane, artifact, "audit", looks, each) is ExitStatus.PASS
        assert looks.answers == []


def test_what_was_recorded_since_the_run_began_is_no_record_from_the_future(tmp_path: Path, street: Street) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    began = court(street)
    hours_later = replace(began, street=replace(street, clock=lambda: NOW + timedelta(hours=2)))
    for check in ("audit", "smoke@cpu"):
        assert ensure_evidence(lane, artifact, check, passes, hours_later) is ExitStatus.PASS


def test_a_record_names_the_bundle_and_not_the_folder_it_lay_in(tmp_path: Path, street: Street) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)

    def fails(_lane: Lane, artifact: Artifact, check: str, _street: Street) -> Observation:
        reason = f"a container does not load ({artifact.path}!/bin/llama-server)"
        document = {"examined": 1, "containers": [{"path": f"{artifact.path}!/bin/llama-server", "size": None}]}
        return Observation(
            Outcome(rule=check, status=Status.FAIL, examined=1, reason=reason), CPU, document, ExitStatus.REFUSED
        )

    assert ensure_evidence(lane, artifact, "smoke@cpu", fails, court(street)) is ExitStatus.REFUSED
    (found,) = read([street.evidence], artifact.sha256, now=NOW)
    place = f"{artifact.path.name}!/bin/llama-server"
    assert found.outcome.reason == f"a container does not load ({place})"
    assert found.document == {"examined": 1, "containers": [{"path": place, "size": None}]}


def test_a_bundle_that_was_replaced_while_it_was_checked_did_not_pass(tmp_path: Path, street: Street) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)

    def replaced(lane: Lane, artifact: Artifact, check: str, street: Street) -> Observation:
        artifact.path.write_bytes(b"another build")
        return passes(lane, artifact, check, street)

    assert ensure_evidence(lane, artifact, "smoke@cpu", replaced, court(street)) is ExitStatus.INFRASTRUCTURE
    outcome = newest(street, artifact)
    assert outcome.status is Status.ERROR
    assert "was replaced" in (outcome.reason or "")


def test_a_lane_for_another_instruction_set_is_skipped_and_said_so(tmp_path: Path, street: Street) -> None:
    lane = cpu_lane(platform=next(other for other in Platform if other != CPU.platform))
    artifact = bundle(tmp_path, lane)
    assert ensure_evidence(lane, artifact, "smoke@cpu", passes, court(street)) is ExitStatus.PASS
    outcome = newest(street, artifact)
    assert outcome.status is Status.SKIPPED
    assert "the lane is for" in (outcome.reason or "")
    assert ensure_evidence(lane, artifact, "audit", passes, court(street)) is ExitStatus.PASS
    assert newest(street, artifact, "audit").status is Status.PASS, "bytes are read on any machine"


def test_what_the_system_refuses_is_an_error_of_this_check_and_not_the_end_of_the_run(
    tmp_path: Path, street: Street
) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)

    def full(*_: object) -> Observation:
        raise OSError(28, "No space left on device", "server.log")

    assert ensure_evidence(lane, artifact, "audit", full, court(street)) is ExitStatus.INFRASTRUCTURE
    assert newest(street, artifact, "audit").reason == "server.log: No space left on device"


def test_a_check_that_was_interrupted_leaves_no_record(tmp_path: Path, street: Street) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)

    def interrupted(*_: object) -> Observation:
        raise Terminated("terminated")

    with pytest.raises(Terminated):
        ensure_evidence(lane, artifact, "audit", interrupted, court(street))
    assert read([street.evidence], artifact.sha256, now=NOW) == ()


def seen_as(status: Status, exit_status: ExitStatus, check: str) -> Observation:
    return Observation(Outcome(rule=check, status=status, examined=1, reason="busy"), CPU, {}, exit_status)


class Looks:
    """A check that answers from a list, and counts."""

    def __init__(self, *answers: tuple[Status, ExitStatus] | CubingateError) -> None:
        self.answers = list(answers)

    def __call__(self, _lane: Lane, _artifact: Artifact, check: str, _street: Street) -> Observation:
        answer = self.answers.pop(0)
        if isinstance(answer, CubingateError):
            raise answer
        return seen_as(*answer, check)


BUSY = (Status.ERROR, ExitStatus.INFRASTRUCTURE)
GOOD = (Status.PASS, ExitStatus.PASS)
BAD = (Status.FAIL, ExitStatus.REFUSED)


@pytest.mark.parametrize(
    ("answers", "status", "paused"),
    [
        ([BUSY, GOOD], ExitStatus.PASS, [1.0]),
        ([InfrastructureError("driver gone"), GOOD], ExitStatus.PASS, [1.0]),
        ([BUSY, BUSY, BUSY], ExitStatus.INFRASTRUCTURE, [1.0, 2.0]),
        ([BAD], ExitStatus.REFUSED, []),
        ([BUSY, BAD], ExitStatus.REFUSED, [1.0]),
        ([EngineUnavailable("no engine")], ExitStatus.INFRASTRUCTURE, []),
    ],
    ids=["busy once", "error once", "always busy", "product failed", "busy, then failed", "no engine"],
)
def test_only_what_the_machine_failed_is_looked_at_again(
    tmp_path: Path, street: Street, answers: list[Any], status: ExitStatus, paused: list[float]
) -> None:
    lane, pauses, looks = cpu_lane(), list[float](), Looks(*answers)
    artifact = bundle(tmp_path, lane)
    patient = replace(street, retries=(1.0, 2.0), pause=pauses.append)
    assert ensure_evidence(lane, artifact, "smoke@cpu", looks, court(patient)) is status
    assert pauses == paused
    assert looks.answers == []
    on_record = read([street.evidence], artifact.sha256, now=NOW)
    assert len(on_record) == len(answers), "each look leaves its record"
