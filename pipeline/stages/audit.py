"""Audit: what the bundle's bytes say about the lane's promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import ExitStatus
from pipeline.machine import this_machine
from pipeline.model.finding import Outcome, Status, Verdict
from pipeline.stages.check import Observation

if TYPE_CHECKING:
    from pipeline.audit import AuditReport
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane
    from pipeline.stages.street import Street


def audit_lane(lane: Lane, artifact: Artifact, check: str, street: Street) -> Observation:
    """Read the bundle and judge it against what the lane declares."""
    from pipeline.audit import run_audit
    from pipeline.policy import load_policy
    from pipeline.report.audit_json import audit_document
    from pipeline.rules.declaration import Declaration

    with street.talk.step(lane.id, "audit"):
        report = run_audit([artifact.path], [], load_policy(), declaration=Declaration.of(lane), every_gpu=True)
    outcome = _outcome(check, report)
    return Observation(outcome, this_machine(engine="none"), audit_document(report), report.status)


def _outcome(check: str, report: AuditReport) -> Outcome:
    examined = report.examined.elf + report.examined.fatbins
    if report.status is ExitStatus.PASS and report.verdict is Verdict.PASS:
        return Outcome(rule=check, status=Status.PASS, examined=examined)
    return Outcome(rule=check, status=Status.FAIL, examined=examined, reason=_reason(report))


def _reason(report: AuditReport) -> str:
    """The worst finding in a line, and for how many rules that is not all."""
    errors = [finding for finding in report.findings if finding.severity == "error"]
    if not errors:
        return f"verdict {report.verdict}, status {int(report.status)}"
    rules = {finding.rule for finding in errors}
    more = f" (and {len(rules) - 1} more rules)" if len(rules) > 1 else ""
    return f"{errors[0].rule}: {errors[0].observed}; {errors[0].remedy}{more}"
