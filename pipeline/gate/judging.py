"""Judges one lane on what is on record about its bytes.

A required check counts only when its newest record is about these bytes and this promise, passed, and was seen where
the check says: a smoke on the CPU is never evidence for a GPU. Skipped, missing and unreadable are all a no. So is a
failure on record of a check that nothing requires: the bytes were seen to fail on a promised target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.evidence import scope_of
from pipeline.gate.audited import passes
from pipeline.gate.standing import CheckStanding, Standing
from pipeline.gate.targets import stand_target
from pipeline.gate.verdict import LaneVerdict
from pipeline.gate.waivers import waive
from pipeline.model.finding import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.errors import CubingateError
    from pipeline.gate.standing import TargetStanding
    from pipeline.gate.terms import Terms
    from pipeline.model.artifact import Artifact
    from pipeline.model.evidence import Evidence
    from pipeline.model.lane import Lane
    from pipeline.policy import Policy

_STANDS = {
    "audit": Standing.INFERRED,
    "diff": Standing.INFERRED,
    "rehearse": Standing.REHEARSED,
    "jit": Standing.REHEARSED,
}
"""What a pass is worth by its kind; everything else was seen where it was to be."""

_BUILD = "build"


def judge(
    lane: Lane,
    artifact: Artifact | None,
    evidence: Sequence[Evidence],
    *,
    terms: Terms,
    why_no_artifact: str = "not built",
) -> LaneVerdict:
    """Judge one lane. ``evidence`` is what is on record about the artifact, oldest first."""
    if artifact is None:
        checks = tuple(CheckStanding(check, Standing.MISSING, why_no_artifact) for check in lane.required)
        return LaneVerdict(lane, None, checks, _targets(lane, checks, (), terms.policy))
    about = [record for record in evidence if record.subject == artifact.sha256]
    stood = {check: _stand(lane, check, about, terms) for check in (*lane.required, *_other_checks(lane))}
    checks = tuple(stand for check, stand in stood.items() if check in lane.required or _was_seen_to_fail(stand))
    counting = [record for record in about if terms.objection(record) is None]
    built = [record for record in counting if record.check == _BUILD and record.lane == lane.id]
    targets = _targets(lane, tuple(stood.values()), counting, terms.policy)
    return LaneVerdict(lane, artifact, checks, targets, built=built[-1] if built else None)


def refuse(lane: Lane, error: CubingateError, policy: Policy) -> LaneVerdict:
    """The verdict on a lane whose evidence could not be read: no, for every check, and why."""
    checks = tuple(CheckStanding(check, Standing.FAILED, f"not judged: {error}") for check in lane.required)
    return LaneVerdict(lane, None, checks, _targets(lane, checks, (), policy), error.status)


def _other_checks(lane: Lane) -> Iterator[str]:
    """The checks on promised GPUs that nothing requires."""
    for target in lane.targets:
        yield from (check for check in (*target.checks, target.rehearsal) if check not in lane.required)


def _was_seen_to_fail(stand: CheckStanding) -> bool:
    """A failure of the product; a machine that could not look has said nothing about it."""
    failed = stand.standing is Standing.FAILED
    return failed and stand.evidence is not None and stand.evidence.outcome.status is Status.FAIL


def _targets(
    lane: Lane, checks: Sequence[CheckStanding], about: Sequence[Evidence], policy: Policy
) -> tuple[TargetStanding, ...]:
    by_id = {check.check: check for check in checks}
    return tuple(stand_target(target, lane, by_id, about, policy) for target in lane.targets)


def _stand(lane: Lane, check: str, about: Sequence[Evidence], terms: Terms) -> CheckStanding:
    return waive(_stand_on_evidence(lane, check, about, terms), lane.waivers, terms.now.date())


def _stand_on_evidence(lane: Lane, check: str, about: Sequence[Evidence], terms: Terms) -> CheckStanding:
    counting, why_none = _counting(lane, check, about, terms)
    if not counting:
        return CheckStanding(check, Standing.MISSING, why_none)
    newest = counting[-1]
    if newest.outcome.status is Status.SKIPPED:
        return CheckStanding(check, Standing.MISSING, f"skipped: {newest.outcome.reason}", newest)
    if _needs_no_rehearsal(newest):
        return CheckStanding(check, Standing.INFERRED, newest.outcome.reason or "", newest)
    if newest.outcome.status is not Status.PASS:
        return CheckStanding(check, Standing.FAILED, newest.outcome.reason or newest.outcome.status.value, newest)
    misplaced = _seen_elsewhere(lane, check, newest, terms.policy)
    if misplaced:
        return CheckStanding(check, Standing.MISSING, misplaced, newest)
    return CheckStanding(check, _STANDS.get(check.partition("@")[0], Standing.PROVEN), "", newest)


def _needs_no_rehearsal(record: Evidence) -> bool:
    """Whether machine code serves the target, so that nothing is compiled there: that follows from the bytes."""
    kind, _, where = record.check.partition("@")
    return kind == "rehearse" and record.outcome.status is Status.NOT_APPLICABLE and passes(record, where)


def _counting(lane: Lane, check: str, about: Sequence[Evidence], terms: Terms) -> tuple[list[Evidence], str]:
    """The records of a check that count, and why there is none."""
    of_check = [record for record in about if record.check == check]
    if not of_check:
        return [], "no evidence"
    scope = scope_of(lane, check)
    fitting = [record for record in of_check if record.scope == scope]
    if not fitting:
        return [], "evidence is for another promise: matrix.yaml changed since"
    counting = [record for record in fitting if terms.objection(record) is None]
    return counting, f"evidence does not count: {terms.objection(fitting[-1])}"


def _seen_elsewhere(lane: Lane, check: str, record: Evidence, policy: Policy) -> str | None:
    """Why a passing record was not seen where ``check`` asks (``KIND@cpu``, ``KIND@SM@DRIVER``); ``None`` if it was."""
    kind, _, where = check.partition("@")
    machine = record.machine
    if not where or kind in {"rehearse", "jit"}:  # whatever machine compiles: it is for the target that the check names
        return None
    if machine.platform != lane.platform:
        return f"seen on {machine.platform}, which is no evidence for {lane.platform}"
    if where == "cpu":
        return None if machine.device == "cpu" else f"seen on {machine.device}, not on the CPU"
    if machine.target is None or not policy.proves(machine.target, where):
        return f"seen on {machine.target or 'the CPU'}, which is no evidence for {where}"
    return None
