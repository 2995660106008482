"""An audit as JUnit XML: one case for each target and one for each rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.finding import Severity, Status, Verdict
from pipeline.report.junit import Case, Ending, Suite, junit_xml
from pipeline.report.shown import times

if TYPE_CHECKING:
    from pipeline.model.finding import Finding, Outcome
    from pipeline.report.told import Told, ToldTarget

_CORRUPT = "corrupt-input"
_ENDINGS = {
    Status.PASS: Ending.PASSED,
    Status.FAIL: Ending.FAILURE,
    Status.ERROR: Ending.ERROR,
    Status.SKIPPED: Ending.SKIPPED,
    Status.NOT_APPLICABLE: Ending.SKIPPED,
    Status.WAIVED: Ending.SKIPPED,
}
_VERDICTS = {Verdict.PASS: Ending.PASSED, Verdict.FAIL: Ending.FAILURE, Verdict.UNKNOWN: Ending.ERROR}


def audit_junit(told: Told) -> str:
    """The document; damage of the input and what the tables cannot decide are errors, not failures."""
    properties = [("examined", told.examined), ("verdict", told.verdict.value)]
    properties += [(f"sha256 of {item.path}", item.sha256) for item in told.artifacts]
    by_target: dict[str, list[Finding]] = {}
    by_rule: dict[str, list[Finding]] = {}
    for finding in told.findings:
        by_rule.setdefault(finding.rule, []).append(finding)
        if finding.severity is Severity.ERROR:
            for label in finding.targets:
                by_target.setdefault(label, []).append(finding)
    targets = tuple(_target(told, target, by_target.get(target.label, [])) for target in told.targets)
    rules = tuple(_rule(told, outcome, by_rule.get(outcome.rule, [])) for outcome in told.outcomes)
    return junit_xml(
        [
            Suite(f"audit targets of {told.name}", targets, tuple(properties)),
            Suite(f"audit rules of {told.name}", rules),
        ]
    )


def _target(told: Told, target: ToldTarget, findings: list[Finding]) -> Case:
    ending = Ending.ERROR if _CORRUPT in target.causes else _VERDICTS[target.verdict]
    name = f"{target.label} ({target.gpu})" if target.gpu else target.label
    kind = target.causes[0] if target.causes else target.verdict.value
    return Case(f"{told.name}.target", name, ending, target.why, kind, _lines(findings))


def _rule(told: Told, outcome: Outcome, findings: list[Finding]) -> Case:
    ending = _ENDINGS[outcome.status]
    if outcome.rule == _CORRUPT and ending is Ending.FAILURE:
        ending = Ending.ERROR
    message = outcome.reason or (findings[0].observed if findings else f"{outcome.examined} examined")
    return Case(f"{told.name}.rule", outcome.rule, ending, message, outcome.status.value, _lines(findings))


def _lines(findings: list[Finding]) -> tuple[str, ...]:
    return tuple(
        f"{finding.severity}[{finding.rule}]{times(finding.count)} {finding.path}: {finding.observed}; "
        f"declared {finding.declared}; fix: {finding.remedy}"
        for finding in findings
    )
