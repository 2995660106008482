"""A release from top to bottom: for each lane build → audit → smoke, then the gate over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.errors import (
    CubingateError,
    EngineUnavailable,
    ExitStatus,
    InfrastructureError,
    Interrupted,
    Terminated,
)
from pipeline.gate import status_of
from pipeline.policy import load_policy
from pipeline.stages.audit import audit_lane
from pipeline.stages.build import build_bundle, bundle_of
from pipeline.stages.check import Check, ensure_evidence, needs_gpu
from pipeline.stages.diff import diff_lane
from pipeline.stages.gate import court_of, judge_plan
from pipeline.stages.jit import jit_lane
from pipeline.stages.load import load_lane
from pipeline.stages.rehearse import rehearse_lane
from pipeline.stages.renewal import renew_record
from pipeline.stages.smoke import smoke_lane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.gate import LaneVerdict
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane, Plan
    from pipeline.stages.gate import Court
    from pipeline.stages.street import Street

CHECKS: dict[str, Check] = {
    "audit": audit_lane,
    "diff": diff_lane,
    "rehearse": rehearse_lane,
    "jit": jit_lane,
    "load": load_lane,
    "smoke": smoke_lane,
}
"""How each kind of required check looks; the kind is what stands before the first ``@``."""

ON_DEMAND = "not built: on demand, ask for it with --lane"
NOT_HERE = "not built: the machine that should have left no bundle"
IN_VAIN = "what it signs counts as signed by nobody who is trusted"


class Part(StrEnum):
    """What of a release this machine does, where several share it; the gate judges what all of them left on record."""

    ALL = "all"
    HOSTED = "hosted"
    """Build, and every check that needs no GPU."""
    GPU = "gpu"
    """The checks that a GPU of this machine proves, on bundles that another machine built."""


@dataclass(frozen=True, slots=True)
class LaneRun:
    """What became of one lane on this run: its bundle, or why there is none, and the gravest status of its stages."""

    lane: Lane
    artifact: Artifact | None
    problem: str
    status: ExitStatus


@dataclass(frozen=True, slots=True)
class PlanRun:
    """Every lane's run and verdict. ``status`` is the gravest of all of them.

    ``checks`` are those that were this machine's to make: of a part of a release only they decide.
    """

    lanes: tuple[LaneRun, ...]
    verdicts: tuple[LaneVerdict, ...]
    part: Part = Part.ALL
    checks: frozenset[str] = frozenset()

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole run."""
        if self.part is Part.ALL:
            return ExitStatus.gravest([status_of(self.verdicts), *(lane.status for lane in self.lanes)])
        return ExitStatus.gravest(map(self._of_lane, self.lanes, self.verdicts))

    def _of_lane(self, lane: LaneRun, verdict: LaneVerdict) -> ExitStatus:
        mine = [check for check in verdict.checks if check.check in self.checks]
        there = lane.artifact is not None or (self.part is Part.GPU and not mine)
        if there and all(check.standing.approves for check in mine):
            return verdict.trouble
        return ExitStatus.gravest([lane.status, verdict.trouble, ExitStatus.REFUSED])


def run_plan(plan: Plan, street: Street, *, chosen: Sequence[str], part: Part = Part.ALL) -> PlanRun:
    """Run every lane of ``plan``; those named in ``chosen`` are built even when they are on demand.

    ``InfrastructureError`` for ``Part.GPU`` on a machine whose GPUs prove nothing of it.
    """
    checks, court = _checks_of(plan, street, part), court_of(plan, street)
    if street.signing is not None and not court.own_signature:
        street.talk.say(
            f"warning: key {street.signing.id[:12]} is none of evidence.keys of {plan.matrix_file}: {IN_VAIN}", "yellow"
        )
    runs = tuple(
        _run_lane(lane, court, checks, wanted=part is not Part.GPU and (not lane.on_demand or lane.id in chosen))
        for lane in plan.lanes
    )
    problems = {run.lane.id: run.problem for run in runs if run.problem}
    return PlanRun(runs, judge_plan(plan, street, problems), part, checks)


def _checks_of(plan: Plan, street: Street, part: Part) -> frozenset[str]:
    """The required checks that are this machine's to make."""
    required = frozenset(check for lane in plan.lanes for check in lane.required)
    on_gpus = frozenset(filter(needs_gpu, required))
    if part is not Part.GPU:
        return required if part is Part.ALL else required - on_gpus
    # A skip of what another machine proves would be the newest record, and count.
    gpus, policy = street.gpus(), load_policy()
    proven = {check for check in on_gpus if any(policy.proves(gpu.label, check.partition("@")[2]) for gpu in gpus)}
    if not proven:
        here = ", ".join(gpu.label for gpu in gpus) or "none"
        asked = ", ".join(sorted({check.partition("@")[2] for check in on_gpus})) or "no GPU"
        raise InfrastructureError(f"no GPU of this machine ({here}) proves what is asked for ({asked})")
    return frozenset(proven)


def _run_lane(lane: Lane, court: Court, checks: frozenset[str], *, wanted: bool) -> LaneRun:
    street = court.street
    try:
        artifact = build_bundle(lane, street) if wanted else bundle_of(lane, street)
        if wanted and artifact is not None:
            renew_record(lane, artifact, court)
    except (Interrupted, Terminated):
        raise
    except EngineUnavailable as error:
        return _stopped(lane, street, error, "not built: no engine")
    except CubingateError as error:
        return _stopped(lane, street, error, f"not built: {error.message}")
    if artifact is None:
        return LaneRun(lane, None, ON_DEMAND if lane.on_demand else NOT_HERE, ExitStatus.PASS)
    return _check_lane(lane, artifact, court, checks)


def _check_lane(lane: Lane, artifact: Artifact, court: Court, checks: frozenset[str]) -> LaneRun:
    """Every required check among ``checks``.

    Records that cannot be read or written end this lane's run, not the others'.
    """
    try:
        statuses = [
            ensure_evidence(lane, artifact, check, CHECKS[check.partition("@")[0]], court)
            for check in lane.required
            if check in checks
        ]
    except (Interrupted, Terminated):
        raise
    except CubingateError as error:
        return _stopped(lane, court.street, error, error.message)
    return LaneRun(lane, artifact, "", ExitStatus.gravest(statuses))


def _stopped(lane: Lane, street: Street, error: CubingateError, problem: str) -> LaneRun:
    street.talk.say(f"{lane.id}  {error}", "red")
    return LaneRun(lane, None, problem, error.status)
