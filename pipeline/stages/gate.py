"""The gate over the lanes of a plan: read what is on record about each bundle, and judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline import evidence as records
from pipeline.gate import LaneVerdict, judge
from pipeline.stages.build import bundle_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pipeline.model.lane import Lane
    from pipeline.stages.street import Street


def judge_lanes(
    lanes: Sequence[Lane], street: Street, problems: Mapping[str, str], *, more_evidence: Sequence[Path] = ()
) -> tuple[LaneVerdict, ...]:
    """Judge each lane on the bundle in the state directory; ``problems`` say why a lane has none."""
    return tuple(
        _judge_lane(lane, street, problems.get(lane.id, "not built"), [street.evidence, *more_evidence])
        for lane in lanes
    )


def _judge_lane(lane: Lane, street: Street, problem: str, directories: Sequence[Path]) -> LaneVerdict:
    artifact = bundle_of(lane, street, directories)
    evidence = records.read(directories, artifact.sha256, now=street.clock()) if artifact else ()
    return judge(lane, artifact, evidence, today=street.clock().date(), why_no_artifact=problem)
