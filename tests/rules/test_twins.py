"""Every rule fails its violating artifact, passes the healthy twin, and is missed when it is taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit import audit_artifacts
from pipeline.audit.aims import aim_at
from pipeline.audit.judge import units_in
from pipeline.audit.run import read_or_damage
from pipeline.model.finding import Status, Verdict
from pipeline.policy import Policy, load_policy
from pipeline.rehearse import rehearse
from pipeline.rules.registry import RULES
from tests.rehearse.assemblers import SETTINGS
from tests.rules.cases import TWINS, Asked, Twins

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import AuditReport
    from pipeline.rules.registry import Rule

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def audited(asked: Asked, folder: Path, policy: Policy, rules: tuple[Rule, ...] = RULES) -> AuditReport:
    path = asked.make(folder)
    target = policy.parse_target(asked.target)
    inventory = read_or_damage(path, deep=False, kernels=asked.kernels)
    aim = aim_at(target, units_in([inventory]).loaded, asked.declaration, policy)
    return audit_artifacts(
        [inventory],
        [target],
        asked.declaration,
        asked.host,
        policy,
        rehearsal=rehearse([(path, inventory)], [aim], policy, SETTINGS) if asked.rehearse else None,
        rules=rules,
    )


def status_of(report: AuditReport, rule: str) -> Status:
    return next(outcome.status for outcome in report.outcomes if outcome.rule == rule)


def test_every_rule_has_its_twins() -> None:
    assert [twins.rule for twins in TWINS] == [rule.id for rule in RULES]


@pytest.mark.parametrize("twins", TWINS, ids=lambda twins: twins.rule)
def test_the_violating_artifact_fails(twins: Twins, tmp_path: Path, policy: Policy) -> None:
    report = audited(twins.violating, tmp_path, policy)
    assert twins.rule in report.targets[0].causes
    assert report.targets[0].verdict is not Verdict.PASS
    assert report.status != 0
    assert status_of(report, twins.rule) in {Status.FAIL, Status.ERROR}
    findings = [finding for finding in report.findings if finding.rule == twins.rule]
    assert findings
    assert all(finding.declared and finding.observed and finding.remedy for finding in findings)
    if twins.alone:
        assert report.targets[0].causes == (twins.rule,)


@pytest.mark.parametrize("twins", TWINS, ids=lambda twins: twins.rule)
def test_the_healthy_twin_passes(twins: Twins, tmp_path: Path, policy: Policy) -> None:
    report = audited(twins.healthy, tmp_path, policy)
    assert report.targets[0].verdict is Verdict.PASS, report.findings
    assert report.targets[0].causes == ()
    assert report.targets[0].errors == ()
    assert report.status == 0
    assert status_of(report, twins.rule) in {Status.PASS, Status.NOT_APPLICABLE}


@pytest.mark.parametrize("twins", TWINS, ids=lambda twins: twins.rule)
def test_without_the_rule_nothing_finds_it(twins: Twins, tmp_path: Path, policy: Policy) -> None:
    others = tuple(rule for rule in RULES if rule.id != twins.rule)
    report = audited(twins.violating, tmp_path, policy, others)
    assert twins.rule not in report.targets[0].causes
    assert not [finding for finding in report.findings if finding.rule == twins.rule]
    if twins.alone:
        assert report.targets[0].verdict is Verdict.PASS


def test_every_rule_is_documented() -> None:
    for rule in RULES:
        for part in ("What:", "Why:", "Remedy:", "Source:"):
            assert f"\n{part} " in rule.document, f"{rule.id} lacks {part}"
