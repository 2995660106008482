"""Evidence and waivers in, verdict out; the only maker of ``Approved``.

A required check counts only when its newest record is about these bytes and this promise, passed, and was seen where
the check says: a smoke on the CPU is never evidence for a GPU. Skipped, missing and unreadable are all a no.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pipeline.errors import ExitStatus
from pipeline.evidence import scope_of
from pipeline.model.finding import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from pipeline.errors import CubingateError
    from pipeline.model.artifact import Artifact
    from pipeline.model.evidence import Evidence
    from pipeline.model.lane import Lane, Waiver


class Standing(StrEnum):
    """What became of one required check."""

    PROVEN = "proven"
    REHEARSED = "rehearsed"
    INFERRED = "inferred"
    MISSING = "missing"
    FAILED = "failed"
    WAIVED = "waived"


_APPROVING = (Standing.PROVEN, Standing.REHEARSED, Standing.INFERRED, Standing.WAIVED)


@dataclass(frozen=True, slots=True)
class CheckStanding:
    """One required check, what became of it, why, and the record that decided."""

    check: str
    standing: Standing
    reason: str
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class LaneVerdict:
    """Whether one lane may be published, check by check. ``artifact`` is ``None`` where nothing was built.

    ``trouble`` is the exit status of what kept the gate from judging at all, such as a damaged record.
    """

    lane: Lane
    artifact: Artifact | None
    checks: tuple[CheckStanding, ...]
    trouble: ExitStatus = ExitStatus.PASS

    @property
    def approved(self) -> bool:
        """True when there are bytes, at least one required check, and none of them says no."""
        return (
            self.artifact is not None
            and bool(self.checks)
            and all(check.standing in _APPROVING for check in self.checks)
        )

    def to_json(self) -> dict[str, Any]:
        """The lane's row of the contract's ``gate`` document, with a reason for every check beside it."""
        row: dict[str, Any] = {
            "id": self.lane.id,
            "sha256": self.artifact.sha256 if self.artifact else None,
            "verdict": "approved" if self.approved else "refused",
            "required": [check.check for check in self.checks],
        }
        for standing in Standing:
            row[standing.value] = [check.check for check in self.checks if check.standing is standing]
        row["reasons"] = {check.check: check.reason for check in self.checks if check.reason}
        return row


@dataclass(frozen=True, slots=True)
class Approved:
    """Bytes that may be published. Publishers take nothing else, and only ``approve`` makes one."""

    artifact: Artifact
    verdict: LaneVerdict


def judge(
    lane: Lane,
    artifact: Artifact | None,
    evidence: Sequence[Evidence],
    *,
    today: date,
    why_no_artifact: str = "not built",
) -> LaneVerdict:
    """Judge one lane. ``evidence`` is what is on record about the artifact, oldest first."""
    if artifact is None:
        checks = tuple(CheckStanding(check, Standing.MISSING, why_no_artifact) for check in lane.required)
    else:
        checks = tuple(_stand(lane, check, artifact, evidence, today) for check in lane.required)
    return LaneVerdict(lane, artifact, checks)


def refuse(lane: Lane, error: CubingateError) -> LaneVerdict:
    """The verdict on a lane whose evidence could not be read: no, for every check, and why."""
    checks = tuple(CheckStanding(check, Standing.FAILED, f"not judged: {error}") for check in lane.required)
    return LaneVerdict(lane, None, checks, error.status)


def status_of(verdicts: Sequence[LaneVerdict]) -> ExitStatus:
    """The exit status of a gate over several lanes: the gravest wins."""
    said = [ExitStatus.PASS if verdict.approved else ExitStatus.REFUSED for verdict in verdicts]
    return ExitStatus.gravest([*said, *(verdict.trouble for verdict in verdicts)])


def approve(verdict: LaneVerdict) -> Approved:
    """Turn an approving verdict into a pass for the publishers; ``ValueError`` for any other."""
    if not verdict.approved or verdict.artifact is None:
        raise ValueError(f"{verdict.lane.id} is not approved")
    return Approved(verdict.artifact, verdict)


def _stand(lane: Lane, check: str, artifact: Artifact, evidence: Sequence[Evidence], today: date) -> CheckStanding:
    standing = _stand_on_evidence(lane, check, artifact, evidence)
    if standing.standing not in _APPROVING:
        for waiver in lane.waivers:
            if waiver.check == check and waiver.expires >= today.isoformat():
                return CheckStanding(check, Standing.WAIVED, _waived(waiver, standing), standing.evidence)
    return standing


def _waived(waiver: Waiver, standing: CheckStanding) -> str:
    instead = f"{standing.standing}: {standing.reason}"
    return f"waived until {waiver.expires} by {waiver.owner}: {waiver.reason} (else {instead})"


def _stand_on_evidence(lane: Lane, check: str, artifact: Artifact, evidence: Sequence[Evidence]) -> CheckStanding:
    about = [record for record in evidence if record.subject == artifact.sha256 and record.check == check]
    if not about:
        return CheckStanding(check, Standing.MISSING, "no evidence")
    fitting = [record for record in about if record.scope == scope_of(lane, check)]
    if not fitting:
        return CheckStanding(check, Standing.MISSING, "evidence is for another promise: matrix.yaml changed since")
    newest = fitting[-1]
    if newest.outcome.status is Status.SKIPPED:
        return CheckStanding(check, Standing.MISSING, f"skipped: {newest.outcome.reason}", newest)
    if newest.outcome.status is not Status.PASS:
        return CheckStanding(check, Standing.FAILED, newest.outcome.reason or newest.outcome.status.value, newest)
    misplaced = _seen_elsewhere(lane, check, newest)
    if misplaced:
        return CheckStanding(check, Standing.MISSING, misplaced, newest)
    return CheckStanding(check, Standing.INFERRED if check in {"audit", "diff"} else Standing.PROVEN, "", newest)


def _seen_elsewhere(lane: Lane, check: str, record: Evidence) -> str | None:
    """Why a passing record was not seen where ``check`` asks (``KIND@cpu``, ``KIND@SM@DRIVER``); ``None`` if it was."""
    _, _, where = check.partition("@")
    machine = record.machine
    if not where:
        return None
    if machine.platform != lane.platform:
        return f"seen on {machine.platform}, which is no evidence for {lane.platform}"
    if where == "cpu":
        return None if machine.device == "cpu" else f"seen on {machine.device}, not on the CPU"
    if machine.device != "cuda" or f"{machine.sm}@{machine.driver}" != where:
        seen = f"{machine.sm}@{machine.driver}" if machine.device == "cuda" else "the CPU"
        return f"seen on {seen}, which is no evidence for {where}"
    return None
