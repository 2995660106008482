"""Smoke: the bundle serves one token, on the CPU or on the very GPU and driver that the check names."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.machine import this_machine
from pipeline.stages.check import Observation
from pipeline.stages.gpus import gpu_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.engine.interface import ServingEngine
    from pipeline.machine import InstalledGpu
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane
    from pipeline.policy import Policy
    from pipeline.serve.diagnose import NamedError
    from pipeline.serve.outcome import SmokeReport
    from pipeline.stages.street import Street


_WAIT_FOR_GPU = 600.0  # seconds that another check may hold the GPU


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
        return observed(smoke_on(None, lane, artifact, check, street), check)
    gpu = gpu_for(check, street)
    if isinstance(gpu, Observation):
        return gpu
    return observed(smoke_on(gpu, lane, artifact, check, street), check)


def smoke_on(gpu: InstalledGpu | None, lane: Lane, artifact: Artifact, check: str, street: Street) -> SmokeReport:
    """Serve the bundle on ``gpu``, or on the CPU."""
    from pipeline.serve.bundle import Place as ServingPlace
    from pipeline.serve.bundle import smoke_bundle

    log = street.lane_folder(lane.id) / "logs" / f"{check}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with street.talk.step(lane.id, check) as step, scratch_folder(street.state) as workspace:
        place = place_of(lane, street, step.note)
        serving = ServingPlace(
            machine=this_machine(engine=place.engine.name, gpu=gpu, stand_in=place.stand_in),
            engine=place.engine,
            environment=street.environment,
            workspace=workspace,
            cache=street.state / "cache",
            log=log,
            image=place.image,
            lane=lane.id,
            named_in=error_finder(),
            note=step.note,
        )
        with leased(gpu, step.note):
            return smoke_bundle(artifact.path, lambda: artifact.sha256, lane.smoke, serving)


def observed(report: SmokeReport, check: str) -> Observation:
    """The report as what ``check`` saw."""
    return Observation(report.outcome(check), report.machine.shared, report.to_json(), report.status)


@contextmanager
def scratch_folder(state: Path) -> Iterator[Path]:
    """A folder for unpacked bundles, inside the state: what a killed run leaves there is found by ``clean``."""
    state.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".smoke-", dir=state.resolve()) as folder:
        yield Path(folder)


@contextmanager
def leased(gpu: InstalledGpu | None, note: Callable[[str], None]) -> Iterator[None]:
    """Hold the GPU, so that no other check of this tool takes memory of it meanwhile; on the CPU nothing."""
    if gpu is None:
        yield
        return
    from pipeline.gpu.lease import lease

    with lease(gpu.uuid, wait=_WAIT_FOR_GPU, note=note):
        yield


def error_finder() -> Callable[[str], NamedError | None]:
    """A look-up of the CUDA error that a line of a server's log names, with what it means for a released binary.

    The tables are read when the first line is looked at: most servers give no reason to.
    """

    def find(line: str) -> NamedError | None:
        from pipeline.explain.lookup import errors_in, explain_error
        from pipeline.serve.diagnose import NamedError

        policy = tables()
        for error in errors_in(line, policy):
            advice = explain_error(error, policy).advice
            return NamedError(error.driver_name or error.runtime_name, advice.meaning if advice else error.message)
        return None

    tables = cache(_policy)
    return find


def _policy() -> Policy:
    from pipeline.policy import load_policy

    return load_policy()


def place_of(lane: Lane, street: Street, note: Callable[[str], None]) -> Place:
    """A container of the lane's base image where the lane asks for one, else a plain process."""
    if not lane.smoke.contain:
        return Place(street.engines.process(), None, None)
    if lane.base_image is None:
        raise UsageError(f"{lane.id}: a contained smoke needs a base image", remedy="set base_image, or contain: false")
    engine = street.engines.container()
    image = engine.ensure(lane.base_image, note)
    stand_in = None if image.origin in {"pulled", "local"} else f"{image.origin} image {image.reference}"
    return Place(engine, image.reference, stand_in)
