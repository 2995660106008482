"""Load: every module of the bundle through the very driver and GPU that the check names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.machine import this_machine
from pipeline.model.finding import Outcome, Status, Verdict
from pipeline.stages.check import Observation, skipped
from pipeline.stages.gpus import gpu_for

if TYPE_CHECKING:
    from pipeline.gpu.report import LoadReport
    from pipeline.machine import InstalledGpu
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane
    from pipeline.stages.street import Street


def load_lane(lane: Lane, artifact: Artifact, check: str, street: Street) -> Observation:
    """Load the bundle's modules; a GPU or driver that this machine does not have is a recorded skip."""
    gpu = gpu_for(check, street)
    if isinstance(gpu, Observation):
        return gpu
    report = _loaded(lane, artifact, check, street, gpu)
    if report.machine.shadowed or report.machine.label != gpu.label:
        return skipped(check, f"{report.machine.libcuda} answered, which is not the driver of {gpu.label}")
    return _observed(check, report, gpu)


def _loaded(lane: Lane, artifact: Artifact, check: str, street: Street, gpu: InstalledGpu) -> LoadReport:
    from pipeline.gpu.device import Selector
    from pipeline.gpu.load import load_modules
    from pipeline.gpu.settings import LoadSettings
    from pipeline.policy import load_policy
    from pipeline.rules.declaration import Declaration

    with street.talk.step(lane.id, check) as step:
        settings = LoadSettings(environment=street.environment, selector=Selector(None, gpu.uuid), note=step.note)
        return load_modules(artifact.path, load_policy, settings, declaration=Declaration.of(lane))


def _observed(check: str, report: LoadReport, gpu: InstalledGpu) -> Observation:
    """The evidence; the card's UUID as a digest, since evidence is shared."""
    status = {Verdict.PASS: Status.PASS, Verdict.FAIL: Status.FAIL, Verdict.UNKNOWN: Status.ERROR}[report.verdict]
    reason = None if status is Status.PASS else _reason(report)
    outcome = Outcome(rule=check, status=status, examined=len(report.observed), reason=reason)
    machine = this_machine(engine="process", gpu=gpu).shared
    return Observation(outcome, machine, report.to_json(), report.status)


def _reason(report: LoadReport) -> str:
    if report.missing:
        first = report.missing[0]
        return f"{len(report.missing)} of {len(report.observed)} containers do not load: {first.result} ({first.path})"
    if report.damage:
        return f"corrupt: {report.damage[0].path}: {report.damage[0].what}"
    if not report.observed:
        return "no device code that a driver loads"
    from pipeline.report.load_text import disagreements

    return next(iter(disagreements(report)), "containers were left untried after several hung")
