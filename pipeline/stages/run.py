"""A release from top to bottom: for each lane build → audit → smoke, then the gate over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import CubingateError, EngineUnavailable, ExitStatus, Interrupted, Terminated
from pipeline.gate import status_of
from pipeline.stages.audit import audit_lane
from pipeline.stages.build import build_bundle, bundle_of
from pipeline.stages.check import Check, ensure_evidence
from pipeline.stages.diff import diff_lane
from pipeline.stages.gate import judge_plan
from pipeline.stages.jit import jit_lane
from pipeline.stages.load import load_lane
from pipeline.stages.rehearse import rehearse_lane
from pipeline.stages.smoke import smoke_lane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.gate import LaneVerdict
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane, Plan
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


@dataclass(frozen=True, slots=True)
class LaneRun:
    """What became of one lane on this run: its bundle, or why there is none, and the gravest status of its stages."""

    lane: Lane
    artifact: Artifact | None
    problem: str
    status: ExitStatus


@dataclass(frozen=True, slots=True)
class PlanRun:
    """Every lane's run and verdict. ``status`` is the gravest of all of them."""

    lanes: tuple[LaneRun, ...]
    verdicts: tuple[LaneVerdict, ...]

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole run."""
        return ExitStatus.gravest([status_of(self.verdicts), *(lane.status for lane in self.lanes)])


def run_plan(plan: Plan, street: Street, *, chosen: Sequence[str]) -> PlanRun:
    """Run every lane of ``plan``; those named in ``chosen`` are built even when they are on demand."""
    runs = tuple(_run_lane(lane, street, wanted=not lane.on_demand or lane.id in chosen) for lane in plan.lanes)
    problems = {run.lane.id: run.problem for run in runs if run.problem}
    return PlanRun(runs, judge_plan(plan, street, problems))


def _run_lane(lane: Lane, street: Street, *, wanted: bool) -> LaneRun:
    try:
        artifact = build_bundle(lane, street) if wanted else bundle_of(lane, street)
    except (Interrupted, Terminated):
        raise
    except EngineUnavailable as error:
        return _stopped(lane, street, error, "not built: no engine")
    except CubingateError as error:
        return _stopped(lane, street, error, f"not built: {error.message}")
    if artifact is None:
        return LaneRun(lane, None, ON_DEMAND, ExitStatus.PASS)
    return _check_lane(lane, artifact, street)


def _check_lane(lane: Lane, artifact: Artifact, street: Street) -> LaneRun:
    """Every required check; records that cannot be read or written end this lane's run, not the others'."""
    try:
        statuses = [
            ensure_evidence(lane, artifact, check, CHECKS[check.partition("@")[0]], street) for check in lane.required
        ]
    except (Interrupted, Terminated):
        raise
    except CubingateError as error:
        return _stopped(lane, street, error, error.message)
    return LaneRun(lane, artifact, "", ExitStatus.gravest(statuses))


def _stopped(lane: Lane, street: Street, error: CubingateError, problem: str) -> LaneRun:
    street.talk.say(f"{lane.id}  {error}", "red")
    return LaneRun(lane, None, problem, error.status)
