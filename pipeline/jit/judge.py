"""Compilations to verdicts by target, with findings in which the same words about several targets stand once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.jit.claims import claim_of, claims_of
from pipeline.jit.gaps import gaps
from pipeline.jit.report import JitReport, JitTarget
from pipeline.model.finding import Finding, Outcome, Severity, Status, Verdict
from pipeline.rules.subject import Effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.jit.compilation import Compilation
    from pipeline.model.lane import Lane
    from pipeline.model.target import Target
    from pipeline.policy import Policy
    from pipeline.rules.subject import Claim

_SEVERITY = {
    Effect.FAIL: Severity.ERROR,
    Effect.DOUBT: Severity.WARNING,
    Effect.WARNING: Severity.WARNING,
    Effect.NOTE: Severity.NOTE,
}
_COMPILED = "jit-compile"
_NOTHING = "nothing is compiled for this GPU: from_sm and up_to_sm leave it out"


@dataclass(slots=True)
class _Said:
    """The same claim about several targets."""

    claim: Claim
    targets: list[str] = field(default_factory=list)


def judge(lane: Lane, targets: Sequence[Target], compilations: Sequence[Compilation], policy: Policy) -> JitReport:
    """The report on a lane: what each compilation says about each target that it stands for."""
    judged = [(target, _about(target, compilations)) for target in targets]
    missing = tuple(gaps(compilations))
    claims = {
        target.label: (
            *(claim for compilation in about for claim in claims_of(compilation, target, policy)),
            *(claim_of(gap, target) for gap in missing if gap.compilation in about),
        )
        for target, about in judged
    }
    rows = tuple(_row(target, about, claims[target.label]) for target, about in judged)
    everything = [claim for said in claims.values() for claim in said]
    return JitReport(
        lane=lane.id,
        compilations=tuple(compilations),
        targets=rows,
        findings=_findings(everything),
        outcomes=_outcomes(everything, len(compilations)),
    )


def _about(target: Target, compilations: Sequence[Compilation]) -> tuple[Compilation, ...]:
    return tuple(
        compilation
        for compilation in compilations
        if compilation.sm == target.sm and (not compilation.only_for or target.label in compilation.only_for)
    )


def _row(target: Target, about: Sequence[Compilation], claims: Sequence[Claim]) -> JitTarget:
    failing = [claim for claim in claims if claim.effect is Effect.FAIL]
    doubts = [claim for claim in claims if claim.effect is Effect.DOUBT]
    verdict = Verdict.FAIL if failing else Verdict.UNKNOWN if doubts or not about else Verdict.PASS
    deciding = failing or doubts
    return JitTarget(
        target=target,
        verdict=verdict,
        causes=tuple(dict.fromkeys(claim.rule for claim in deciding)),
        errors=tuple(dict.fromkeys(claim.error for claim in deciding if claim.error)),
        compilations=len(about),
        seconds=sum(compilation.seconds for compilation in about),
    )


def _findings(claims: Sequence[Claim]) -> tuple[Finding, ...]:
    said: dict[tuple[str, ...], _Said] = {}
    for claim in claims:
        key = (claim.rule, claim.effect, claim.path, claim.declared, claim.observed, claim.remedy)
        said.setdefault(key, _Said(claim)).targets += claim.targets
    order = list(Effect)
    return tuple(_finding(each) for each in sorted(said.values(), key=lambda each: order.index(each.claim.effect)))


def _finding(said: _Said) -> Finding:
    claim, targets = said.claim, tuple(dict.fromkeys(said.targets))
    return Finding(
        rule=claim.rule,
        severity=_SEVERITY[claim.effect],
        path=claim.path,
        declared=claim.declared,
        observed=claim.observed,
        remedy=claim.remedy,
        targets=targets,
    )


def _outcomes(claims: Sequence[Claim], examined: int) -> tuple[Outcome, ...]:
    """One for each rule that said something; that everything compiles is an outcome too."""
    if not examined:
        return (Outcome(rule=_COMPILED, status=Status.ERROR, examined=0, reason=_NOTHING),)
    failed = {claim.rule for claim in claims if claim.effect is Effect.FAIL}
    doubted = {claim.rule for claim in claims if claim.effect is Effect.DOUBT}
    rules = dict.fromkeys([_COMPILED, *(claim.rule for claim in claims)])
    return tuple(
        Outcome(
            rule=rule,
            status=Status.FAIL if rule in failed else Status.ERROR if rule in doubted else Status.PASS,
            examined=examined,
        )
        for rule in rules
    )
