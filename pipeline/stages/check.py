"""One required check of one lane: reuse its evidence, or look and record what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipeline import evidence as records
from pipeline.errors import CubingateError, EngineUnavailable, ExitStatus, InfrastructureError, Interrupted, Terminated
from pipeline.machine import this_machine
from pipeline.model.evidence import Evidence, Machine
from pipeline.model.finding import Outcome, Status

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane
    from pipeline.stages.gate import Court
    from pipeline.stages.street import Street


@dataclass(frozen=True, slots=True)
class Observation:
    """What a check saw: its outcome, where, its own JSON document, and what that means for the exit status.

    ``final`` says that another look would find the same, however it failed.
    """

    outcome: Outcome
    machine: Machine
    document: dict[str, Any]
    status: ExitStatus
    final: bool = False

    @property
    def worth_another_look(self) -> bool:
        """Whether the machine failed, and not the product: that alone is ever tried again."""
        return self.status is ExitStatus.INFRASTRUCTURE and not self.final


def needs_gpu(check: str) -> bool:
    """Whether ``check`` is seen on a GPU: ``load@SM@DRIVER``, ``smoke@SM@DRIVER``."""
    kind, _, where = check.partition("@")
    return kind in {"load", "smoke"} and where not in {"", "cpu"}


Check = Callable[["Lane", "Artifact", str, "Street"], Observation]
"""A way to look at a lane's bundle; ``CubingateError`` when looking was not possible."""


def ensure_evidence(lane: Lane, artifact: Artifact, check: str, look: Check, court: Court) -> ExitStatus:
    """See to it that ``check`` of ``lane`` has a record; return what it means for the exit status.

    A pass about these bytes and this promise is kept, unless the gate does not count it and would count a new one: it
    is unsigned, expired, from another commit or judged under other tables. Anything else is looked at again. Where the
    machine failed, another look follows after each pause of ``street.retries``, each on record; what the product
    failed is final.
    """
    street = court.street
    if _has_passed(lane, artifact, check, court):
        street.talk.say(f"{lane.id}  {check}  unchanged, passed before", "dim")
        return ExitStatus.PASS
    seen = _look_once(lane, artifact, check, look, street)
    for pause in street.retries:
        if not seen.worth_another_look:
            break
        street.talk.say(f"{lane.id}  {check}  again in {pause:g} s", "yellow")
        street.pause(pause)
        seen = _look_once(lane, artifact, check, look, street)
    return seen.status


def _look_once(lane: Lane, artifact: Artifact, check: str, look: Check, street: Street) -> Observation:
    started = street.now()
    try:
        seen = _elsewhere(lane, check) or look(lane, artifact, check, street)
        record(lane, artifact, check, seen, started=started, street=street)
    except (Interrupted, Terminated):
        raise
    except (CubingateError, OSError) as error:
        seen = _could_not_look(check, InfrastructureError.of(error) if isinstance(error, OSError) else error)
        record(lane, artifact, check, seen, started=started, street=street)
    _tell(lane, seen.outcome, street)
    return seen


def record(lane: Lane, artifact: Artifact, check: str, seen: Observation, *, started: str, street: Street) -> None:
    """Put what was seen on record.

    ``InfrastructureError`` when the disk refuses, or when a pass would be about other bytes: whoever looked opened the
    file by its name, and another run may have replaced it since its digest was taken.
    """
    from pipeline.inventory.digest import digest_of  # not needed by a run that finds its evidence

    if seen.outcome.status is Status.PASS and digest_of(artifact.path) != artifact.sha256:
        raise InfrastructureError(f"{artifact.path} was replaced while it was checked", remedy="run the lane again")
    reason = seen.outcome.reason and _by_name(seen.outcome.reason, artifact.path)
    records.append(
        street.evidence,
        Evidence(
            subject=artifact.sha256,
            lane=lane.id,
            check=check,
            scope=records.scope_of(lane, check),
            outcome=replace(seen.outcome, reason=reason),
            machine=seen.machine,
            started=started,
            finished=street.now(),
            document=_by_name(seen.document, artifact.path),
            origin=street.origin,
        ),
        street.signing,
    )


def _by_name(told: Any, bundle: Path) -> Any:
    """What was told of the bundle, with its name for its path: records leave the machine that has the folder."""
    match told:
        case str():
            return told.replace(str(bundle), bundle.name)
        case list():
            return [_by_name(item, bundle) for item in told]
        case dict():
            return {key: _by_name(value, bundle) for key, value in told.items()}
        case _:
            return told


def _has_passed(lane: Lane, artifact: Artifact, check: str, court: Court) -> bool:
    scope = records.scope_of(lane, check)
    about = [record for record in court.evidence(artifact.sha256) if record.check == check and record.scope == scope]
    if not about or about[-1].outcome.status is not Status.PASS:
        return False
    counting = [record for record in about if court.terms.objection(record) is None]
    if counting and counting[-1].outcome.status is Status.PASS:
        return True
    made_now = replace(about[-1], finished=court.street.now())
    return court.terms.objection(as_of_this_run(made_now, court)) is not None


def as_of_this_run(record: Evidence, court: Court) -> Evidence:
    """``record`` as this run would write it: of its commit and tables, signed by its key."""
    return replace(record, origin=court.street.origin, signed_by=court.own_signature)


def skipped(check: str, reason: str) -> Observation:
    """A check that this machine cannot make."""
    outcome = Outcome(rule=check, status=Status.SKIPPED, examined=0, reason=reason)
    return Observation(outcome, this_machine(engine="none"), {}, ExitStatus.PASS)


def _elsewhere(lane: Lane, check: str) -> Observation | None:
    """A skip where ``check`` runs the bundle and this machine is of another instruction set."""
    here = this_machine(engine="none").platform
    kind, _, where = check.partition("@")
    if not where or kind in {"rehearse", "jit"} or here == lane.platform:
        return None
    return skipped(check, f"the lane is for {lane.platform}, this machine is {here}")


def _could_not_look(check: str, error: CubingateError) -> Observation:
    outcome = Outcome(rule=check, status=Status.ERROR, examined=0, reason=str(error))
    # Whether there is an engine is asked once in a run.
    return Observation(
        outcome, this_machine(engine="none"), {}, error.status, final=isinstance(error, EngineUnavailable)
    )


def _tell(lane: Lane, outcome: Outcome, street: Street) -> None:
    styles = {Status.PASS: "green", Status.SKIPPED: "yellow"}
    reason = f": {outcome.reason}" if outcome.reason else ""
    street.talk.say(f"{lane.id}  {outcome.rule}  {outcome.status}{reason}", styles.get(outcome.status, "red"))
