"""The gate over the lanes of a plan: read what is on record about each bundle, and judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline import evidence as records
from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.gate import LaneVerdict, judge, refuse
from pipeline.policy import load_policy
from pipeline.stages.build import bundle_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pipeline.model.lane import Lane
    from pipeline.policy import Policy
    from pipeline.stages.street import Street


def judge_lanes(
    lanes: Sequence[Lane], street: Street, problems: Mapping[str, str], *, more_evidence: Sequence[Path] = ()
) -> tuple[LaneVerdict, ...]:
    """Judge each lane on the bundle in the state directory; ``problems`` say why a lane has none."""
    policy = load_policy()
    return tuple(_judge_lane(lane, street, policy, problems.get(lane.id, "not built"), more_evidence) for lane in lanes)


def _judge_lane(lane: Lane, street: Street, policy: Policy, problem: str, more_evidence: Sequence[Path]) -> LaneVerdict:
    now, directories = street.clock(), [street.evidence, *more_evidence]
    try:
        artifact = bundle_of(lane, street, more_evidence=more_evidence)
        evidence = records.read(directories, artifact.sha256, now=now) if artifact else ()
    except (CorruptInput, InfrastructureError) as error:
        return refuse(lane, error, policy)  # the other lanes have theirs
    return judge(lane, artifact, evidence, today=now.date(), policy=policy, why_no_artifact=problem)
