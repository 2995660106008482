"""One required check of one lane: reuse its evidence, or look and record what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline import evidence as records
from pipeline.errors import CubingateError, ExitStatus, Interrupted, Terminated
from pipeline.machine import this_machine
from pipeline.model.evidence import Evidence, Machine
from pipeline.model.finding import Outcome, Status

if TYPE_CHECKING:
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane
    from pipeline.stages.street import Street


@dataclass(frozen=True, slots=True)
class Observation:
    """What a check saw: its outcome, where, its own JSON document, and what that means for the exit status."""

    outcome: Outcome
    machine: Machine
    document: dict[str, Any]
    status: ExitStatus


Check = Callable[["Lane", "Artifact", str, "Street"], Observation]
"""A way to look at a lane's bundle; ``CubingateError`` when looking was not possible."""


def ensure_evidence(lane: Lane, artifact: Artifact, check: str, look: Check, street: Street) -> ExitStatus:
    """See to it that ``check`` of ``lane`` has a record; return what it means for the exit status.

    A pass about these bytes and this promise is kept. Anything else is looked at again.
    """
    if _has_passed(lane, artifact, check, street):
        street.talk.say(f"{lane.id}  {check}  unchanged, passed before", "dim")
        return ExitStatus.PASS
    started = street.now()
    try:
        seen = look(lane, artifact, check, street)
    except (Interrupted, Terminated):
        raise
    except CubingateError as error:
        seen = _could_not_look(check, error)
    record(lane, artifact, check, seen, started=started, street=street)
    _tell(lane, seen.outcome, street)
    return seen.status


def record(lane: Lane, artifact: Artifact, check: str, seen: Observation, *, started: str, street: Street) -> None:
    """Put what was seen on record; ``InfrastructureError`` when the disk refuses."""
    records.append(
        street.evidence,
        Evidence(
            subject=artifact.sha256,
            lane=lane.id,
            check=check,
            scope=records.scope_of(lane, check),
            outcome=seen.outcome,
            machine=seen.machine,
            started=started,
            finished=street.now(),
            document=seen.document,
        ),
    )


def _has_passed(lane: Lane, artifact: Artifact, check: str, street: Street) -> bool:
    scope = records.scope_of(lane, check)
    about = [
        record
        for record in records.read([street.evidence], artifact.sha256, now=street.clock())
        if record.check == check and record.scope == scope
    ]
    return bool(about) and about[-1].outcome.status is Status.PASS


def _could_not_look(check: str, error: CubingateError) -> Observation:
    outcome = Outcome(rule=check, status=Status.ERROR, examined=0, reason=str(error))
    return Observation(outcome, this_machine(engine="none"), {}, error.status)


def _tell(lane: Lane, outcome: Outcome, street: Street) -> None:
    styles = {Status.PASS: "green", Status.SKIPPED: "yellow"}
    reason = f": {outcome.reason}" if outcome.reason else ""
    street.talk.say(f"{lane.id}  {outcome.rule}  {outcome.status}{reason}", styles.get(outcome.status, "red"))
