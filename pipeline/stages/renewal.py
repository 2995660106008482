"""The record of a build, made again without building where the one from before does not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline import evidence as records
from pipeline.errors import InfrastructureError
from pipeline.stages.build import CHECK, record_build
from pipeline.stages.check import as_of_this_run

if TYPE_CHECKING:
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane
    from pipeline.stages.gate import Court


def renew_record(lane: Lane, artifact: Artifact, court: Court) -> None:
    """Put the build of a bundle that is there on record again, where the gate counts no record and would count this.

    So a build from before signatures were required is signed by whoever can, and not repeated; it keeps the times of
    the build. ``InfrastructureError`` when the bundle's bytes are no more those on record.
    """
    from pipeline.inventory.digest import digest_of  # not needed by a run whose records count

    scope, street = records.scope_of(lane, CHECK), court.street
    about = [
        record
        for record in court.evidence(artifact.sha256)
        if (record.check, record.scope, record.lane) == (CHECK, scope, lane.id)
    ]
    if not about or any(court.terms.objection(record) is None for record in about):
        return
    if court.terms.objection(as_of_this_run(about[-1], court)) is not None:
        return
    if digest_of(artifact.path) != artifact.sha256:
        raise InfrastructureError(f"{artifact.path} is not what was built", remedy="run the lane again")
    # What is signed is this machine's own word: of the record that nobody vouches for only the times are taken.
    record_build(lane, artifact, street, started=about[-1].started, finished=about[-1].finished)
    street.talk.say(f"{lane.id}  build  unchanged, on record again", "dim")
