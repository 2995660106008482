"""Smoke: the bundle serves one token, on the CPU or on the very GPU and driver that the check names."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import ExitStatus, UsageError
from pipeline.machine import this_machine
from pipeline.model.finding import Outcome, Status
from pipeline.stages.check import Observation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.engine.interface import ServingEngine
    from pipeline.machine import InstalledGpu
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane
    from pipeline.stages.street import Street


@dataclass(frozen=True, slots=True)
class Place:
    """Where a lane is served: an engine, the image for a container, and what of it is only a stand-in."""

    engine: ServingEngine
    image: str | None
    stand_in: str | None


def smoke_lane(lane: Lane, artifact: Artifact, check: str, street: Street) -> Observation:
    """Serve the bundle where ``check`` says; a GPU that this machine does not have is a recorded skip."""
    _, _, where = check.partition("@")
    if where == "cpu":
        return _smoke(lane, artifact, check, street, None)
    there = [gpu for gpu in street.gpus() if gpu.label == where]
    if not there:
        return _no_such_gpu(check, where, street.gpus())
    return _smoke(lane, artifact, check, street, there[0])


def _no_such_gpu(check: str, where: str, gpus: tuple[InstalledGpu, ...]) -> Observation:
    here = ", ".join(gpu.label for gpu in gpus) or "none"
    outcome = Outcome(
        rule=check, status=Status.SKIPPED, examined=0, reason=f"no GPU {where} on this machine (it has: {here})"
    )
    return Observation(outcome, this_machine(engine="none"), {}, ExitStatus.PASS)


def _smoke(lane: Lane, artifact: Artifact, check: str, street: Street, gpu: InstalledGpu | None) -> Observation:
    from pipeline.serve.bundle import smoke_bundle

    log = street.state / "lanes" / lane.id / "logs" / f"{check}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with street.talk.step(lane.id, check) as step, tempfile.TemporaryDirectory(prefix="cubingate-") as workspace:
        place = _place(lane, street, step.note)
        report = smoke_bundle(
            artifact.path,
            artifact.sha256,
            lane.smoke,
            machine=this_machine(engine=place.engine.name, gpu=gpu, stand_in=place.stand_in),
            engine=place.engine,
            workspace=Path(workspace),
            cache=street.state / "cache",
            log=log,
            image=place.image,
            lane=lane.id,
        )
    return Observation(report.outcome(check), report.machine, report.to_json(), report.status)


def _place(lane: Lane, street: Street, note: Callable[[str], None]) -> Place:
    """A container of the lane's base image where the lane asks for one, else a plain process."""
    if not lane.smoke.contain:
        return Place(street.engines.process(), None, None)
    if lane.base_image is None:
        raise UsageError(f"{lane.id}: a contained smoke needs a base image", remedy="set base_image, or contain: false")
    engine = street.engines.container()
    image = engine.ensure(lane.base_image, note)
    stand_in = None if image.origin in {"pulled", "local"} else f"{image.origin} image {image.reference}"
    return Place(engine, image.reference, stand_in)
