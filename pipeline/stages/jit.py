"""JIT sources: what users' machines compile for one target, compiled here by the compilers that they have."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.machine import this_machine
from pipeline.model.finding import Outcome, Severity, Status, Verdict
from pipeline.stages.check import Observation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.build.settings import Network
    from pipeline.jit import JitReport, JitSettings
    from pipeline.model.artifact import Artifact
    from pipeline.model.jit import JitSource
    from pipeline.model.lane import Lane, PrebuiltWheel
    from pipeline.model.target import Target
    from pipeline.report.progress import Step
    from pipeline.stages.street import Street


def jit_lane(lane: Lane, artifact: Artifact, check: str, street: Street) -> Observation:
    """Compile every JIT source of the lane for the target that ``check`` names."""
    target = next(target for target in lane.targets if target.compilation == check)
    with street.talk.step(lane.id, check) as step:
        settings = jit_settings(street.state / "cache", street.build.network, step, workers=street.build.jobs)
        report = compiled(lane, [target], settings, bundle=artifact.path)
    return Observation(concluded(check, report), this_machine(engine="process"), report.content(), report.status)


def compiled(lane: Lane, targets: Sequence[Target], settings: JitSettings, *, bundle: Path | None) -> JitReport:
    """Compile for ``targets``; ``bundle`` is unpacked where sources lie in it.

    ``InfrastructureError`` where a source was changed meanwhile, so that nobody knows what was compiled.
    """
    from dataclasses import replace

    from pipeline.jit import compile_lane
    from pipeline.policy import load_policy
    from pipeline.unpack import unpack

    with tempfile.TemporaryDirectory(prefix="cubingate-") as scratch:
        root = None
        if bundle is not None and any(source.folder is None for source in lane.jit_sources):
            root = unpack(bundle, Path(scratch))
        report = compile_lane(lane, targets, load_policy(), replace(settings, bundle=root))
    for source in lane.jit_sources:
        _check_unchanged(source)
    return report


def jit_settings(cache: Path, network: Network, step: Step, *, workers: int = 0) -> JitSettings:
    """How this machine compiles: wheels in ``cache``, ``step`` told how far it is; ``workers`` 0: every processor."""
    from pipeline.jit import JitSettings

    def fetch(wheel: PrebuiltWheel) -> Path:
        from pipeline.build.source import fetch_prebuilt

        return fetch_prebuilt(wheel, cache, network, step.note)

    return JitSettings(
        fetch=fetch,
        cache=cache / "jit",
        platform=this_machine(engine="none").platform,
        workers=workers or len(os.sched_getaffinity(0)),
        amount=step.amount,
    )


def concluded(check: str, report: JitReport) -> Outcome:
    """What the compilations for one target amount to."""
    examined = len(report.compilations)
    if report.verdict is Verdict.PASS and examined:
        return Outcome(rule=check, status=Status.PASS, examined=examined)
    status = Status.ERROR if report.verdict is Verdict.UNKNOWN and examined else Status.FAIL
    return Outcome(rule=check, status=status, examined=examined, reason=_reason(report))


def _reason(report: JitReport) -> str:
    """The first of the gravest findings in a line."""
    grave = [finding for finding in report.findings if finding.severity is not Severity.NOTE]
    if not grave:
        return "nothing is compiled for this GPU: from_sm and up_to_sm of the JIT sources leave it out"
    more = f" (and {len(grave) - 1} more)" if len(grave) > 1 else ""
    return f"{grave[0].rule}: {grave[0].path}: {grave[0].observed}; {grave[0].remedy}{more}"


def _check_unchanged(source: JitSource) -> None:
    from pipeline.matrix.jit import content_of

    if source.folder is not None and content_of(source.folder, source.files, source.include) != source.content:
        raise InfrastructureError(f"the files of {source.name} changed while they were compiled", remedy="run it again")
