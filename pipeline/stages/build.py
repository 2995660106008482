"""Build: one lane to one bundle, with a record of the recipe that it was built for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline import evidence as records
from pipeline.errors import EngineUnavailable
from pipeline.machine import this_machine
from pipeline.model.evidence import Evidence
from pipeline.model.finding import Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane
    from pipeline.stages.street import Street

CHECK = "build"


def build_bundle(lane: Lane, street: Street) -> Artifact:
    """The lane's bundle, built only if its recipe changed; errors as ``pipeline.build.builder.build_lane``.

    Without a container engine a bundle on record for this very recipe will do: a GPU runner gets it from another job.
    """
    from pipeline.build.builder import build_lane

    started = street.now()
    try:
        engine = None if lane.prebuilt else street.engines.container()
    except EngineUnavailable:
        if (on_record := bundle_of(lane, street)) is None:
            raise
        street.talk.say(f"{lane.id}  build  no engine here; taking the bundle on record", "dim")
        return on_record
    with street.talk.step(lane.id, "fetch" if lane.prebuilt else "build") as step:
        artifact = build_lane(lane, state=street.state, engine=engine, settings=street.build, progress=step.note)
    if not _recorded(lane, artifact.sha256, street):
        record_build(lane, artifact, street, started=started, finished=street.now())
    return artifact


def bundle_of(lane: Lane, street: Street, *, more_evidence: Sequence[Path] = ()) -> Artifact | None:
    """The bundle in the state directory, if it was built for the recipe that matrix.yaml has now; else ``None``.

    Its build may be on record in ``more_evidence`` too. Nothing is written.
    """
    from pipeline.build.recipe import last_built

    artifact = last_built(street.lane_folder(lane.id), lane.id)
    if artifact is None or not _recorded(lane, artifact.sha256, street, more_evidence):
        return None
    return artifact


def _recorded(lane: Lane, sha256: str, street: Street, more_evidence: Sequence[Path] = ()) -> bool:
    scope = records.scope_of(lane, CHECK)
    found = records.read([street.evidence, *more_evidence], sha256, now=street.clock())
    return any(record.check == CHECK and record.scope == scope for record in found)


def record_build(lane: Lane, artifact: Artifact, street: Street, *, started: str, finished: str) -> None:
    """Put on record that this machine has ``artifact`` of the lane's recipe; ``InfrastructureError`` as ``append``."""
    from pipeline.build.builder import lane_folder
    from pipeline.build.recipe import stand_in_of

    records.append(
        street.evidence,
        Evidence(
            subject=artifact.sha256,
            lane=lane.id,
            check=CHECK,
            scope=records.scope_of(lane, CHECK),
            outcome=Outcome(rule=CHECK, status=Status.PASS, examined=1),
            machine=this_machine(
                engine="none" if lane.prebuilt else "docker", stand_in=stand_in_of(lane_folder(street.state, lane.id))
            ),
            started=started,
            finished=finished,
            document={"file": artifact.path.name, "size": artifact.size, "recipe_digest": artifact.recipe_digest},
            origin=street.origin,
        ),
        street.signing,
    )
