"""The smallest set of GPU runs that proves every target of a plan for which only proof suffices.

A run is one machine: one SM, one driver. It proves each target of that SM whose driver is of the same branch with the
same limits, for every lane that promises one. Such targets fall into classes, and no machine is in two of them: as many
runs as classes are needed, and suffice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.model.lane import Lane, Plan, Target
    from pipeline.policy import Policy


@dataclass(frozen=True, slots=True)
class GpuRun:
    """One machine to run on: ``target`` is what it should be, ``proves`` the checks of each lane that it settles.

    ``runner`` are the labels by which matrix.yaml finds such a machine, none where it does not say.
    """

    target: Target
    runner: tuple[str, ...]
    proves: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def id(self) -> str:
        """A name for a job: ``sm80-r535``; two of a branch differ in their driver."""
        return run_id(self.target)


def run_id(target: Target) -> str:
    """The id of a run on a machine that is ``target``."""
    return f"sm{target.sm}-{target.driver}"


def run_label(run: str) -> str:
    """The label of the target that the id of a run names: ``80@535.288.01``."""
    return run.removeprefix("sm").replace("-", "@", 1)


def asked_targets(plan: Plan) -> tuple[Target, ...]:
    """The targets that only a GPU proves: whichever lanes are selected, each run is on one of them."""
    return tuple(dict.fromkeys(target for lane in plan.lanes for target in lane.targets if _asked(lane, target)))


def gpu_runs(plan: Plan, policy: Policy) -> tuple[GpuRun, ...]:
    """The runs in the order in which the plan first asks for them; targets that may be inferred ask for none."""
    classes: list[list[Target]] = []
    for target in asked_targets(plan):
        fitting = [group for group in classes if policy.proves(group[0].label, target.label)]
        (fitting[0] if fitting else _added(classes)).append(target)
    return tuple(_run(group, plan.lanes) for group in classes)


def demand_runners(runs: Iterable[GpuRun]) -> None:
    """``UsageError`` for a run whose runner nobody named: a job would wait for it for ever."""
    lost = [run.target.label for run in runs if not run.runner]
    if lost:
        raise UsageError(
            f"no runner is named for {', '.join(lost)}, so that nothing could prove it",
            remedy="give the target `runner: [self-hosted, …]`, or say which weaker proof `suffices`",
        )


def _added(classes: list[list[Target]]) -> list[Target]:
    classes.append([])
    return classes[-1]


def _asked(lane: Lane, target: Target) -> bool:
    return any(check in lane.required for check in target.checks)


def _run(group: Sequence[Target], lanes: Iterable[Lane]) -> GpuRun:
    """The run on the newest driver of the class, by the first runner that one of its targets names."""
    runner = next((target.runner for target in group if target.runner), ())
    wanted = {check for target in group for check in target.checks}
    settled = ((lane.id, tuple(check for check in lane.required if check in wanted)) for lane in lanes)
    newest = max(group, key=lambda target: target.driver)
    return GpuRun(newest, runner, tuple((lane, checks) for lane, checks in settled if checks))
