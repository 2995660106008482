"""Rehearse: the PTX of the bundle that one target's driver would compile, compiled here by what comes nearest to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import ExitStatus
from pipeline.machine import this_machine
from pipeline.model.finding import Outcome, Severity, Status, Verdict
from pipeline.rules.assembly import Ending
from pipeline.stages.check import Observation

if TYPE_CHECKING:
    from pipeline.audit import AuditReport
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane
    from pipeline.rules.assembly import Rehearsal
    from pipeline.stages.street import Street


_JUDGED = (
    "corrupt-input",
    "outside-policy",
    "driver-retired",
    "driver-too-old-for-gpu",
    "fatbin-codec",
    "ptx-isa",
    "toolkit-major",
    "cubin-abi",
    "fatbin-kind",
    "arch-missing",
    "arch-suffix",
    "jit-feature",
    "static-shared-memory",
    "register-budget",
    "rehearsal",
)
"""What decides here: device code on a GPU and a driver. The rest of the promise is for the check ``audit``."""


def rehearse_lane(lane: Lane, artifact: Artifact, check: str, street: Street) -> Observation:
    """Audit the device code of the bundle for the target that ``check`` names, with all PTX assembled.

    A target that machine code serves needs no rehearsal: that is not applicable, and never a pass.
    """
    from pipeline.audit import run_audit
    from pipeline.policy import load_policy
    from pipeline.rehearse import rehearse
    from pipeline.report.audit_json import audit_document
    from pipeline.rules.declaration import Declaration
    from pipeline.rules.registry import RULES
    from pipeline.stages.assemblers import libraries_of, rehearse_settings

    policy = load_policy()
    target = next(target for target in lane.targets if target.rehearsal == check)
    with street.talk.step(lane.id, check) as step:
        settings = rehearse_settings(
            street.state / "cache",
            street.build.network,
            step,
            libraries=libraries_of(street.environment),
            workers=street.build.jobs,
        )
        report = run_audit(
            [artifact.path],
            [target],
            policy,
            declaration=Declaration.of(lane),
            rules=tuple(rule for rule in RULES if rule.id in _JUDGED),
            rehearse=lambda artifacts, aims: rehearse(artifacts, aims, policy, settings),
        )
    outcome, status = concluded(check, report)
    return Observation(outcome, this_machine(engine="process"), audit_document(report), status)


def concluded(check: str, report: AuditReport) -> tuple[Outcome, ExitStatus]:
    """What a rehearsal of one target amounts to."""
    (target,), rehearsal = report.targets, report.rehearsal
    if rehearsal is None:
        raise ValueError(f"{check}: a report without rehearsal")
    examined = rehearsal.examined
    if target.verdict is Verdict.FAIL:
        return Outcome(rule=check, status=Status.FAIL, examined=examined, reason=_reason(report)), ExitStatus.REFUSED
    if target.verdict is Verdict.UNKNOWN:
        status = ExitStatus.INFRASTRUCTURE if _unfetched(rehearsal) else ExitStatus.REFUSED
        return Outcome(rule=check, status=Status.ERROR, examined=examined, reason=_reason(report)), status
    if examined:
        return Outcome(rule=check, status=Status.PASS, examined=examined), ExitStatus.PASS
    (rehearsed,) = rehearsal.targets
    if not rehearsed.served:
        return Outcome(rule=check, status=Status.FAIL, examined=0, reason=rehearsed.idle), ExitStatus.REFUSED
    return Outcome(rule=check, status=Status.NOT_APPLICABLE, examined=0, reason=rehearsed.idle), ExitStatus.PASS


def _unfetched(rehearsal: Rehearsal) -> bool:
    return any(target.count(Ending.NOT_FETCHED) for target in rehearsal.targets)


def _reason(report: AuditReport) -> str:
    """The finding that decides, in a line."""
    (target,) = report.targets
    found = [
        finding
        for finding in report.findings
        if finding.severity is not Severity.NOTE and target.target.label in finding.targets
    ]
    told = [finding for finding in found if finding.rule in target.causes[:1]] or found
    return f"{told[0].rule}: {told[0].observed}" if told else f"verdict {target.verdict}"
