"""From claims to verdicts: which target fails, why, and what its user would see."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pipeline.audit.aims import replay
from pipeline.audit.report import FatbinCount, Floor, PassVerdict, TargetReport
from pipeline.model.finding import Finding, Outcome, Severity, Status, Verdict
from pipeline.rules.choice import SUCCESS, JitPass, Via
from pipeline.rules.registry import RULES
from pipeline.rules.subject import Effect

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.policy import Policy
    from pipeline.rules.registry import Rule
    from pipeline.rules.subject import Aim, Claim, Examination, Load

_ORDER = {rule.id: place for place, rule in enumerate(RULES)}
_SEVERITY = {
    Effect.FAIL: Severity.ERROR,
    Effect.DOUBT: Severity.WARNING,
    Effect.WARNING: Severity.WARNING,
    Effect.NOTE: Severity.NOTE,
}
_DEVICE = frozenset(
    ("fatbin-codec", "ptx-isa", "toolkit-major", "cubin-abi", "fatbin-kind", "arch-missing", "arch-suffix")
)


def target_report(aim: Aim, claims: Iterable[Claim], floor: Floor, policy: Policy) -> TargetReport:
    """The answer for one target out of all claims that name it."""
    mine = [claim for claim in claims if aim.label in claim.targets]
    failing = [claim for claim in mine if claim.effect is Effect.FAIL]
    doubts = [claim for claim in mine if claim.effect is Effect.DOUBT]
    verdict = Verdict.FAIL if failing else Verdict.UNKNOWN if doubts else Verdict.PASS
    deciding = failing or doubts
    causes = _ranked(aim, deciding)
    return TargetReport(
        target=aim.target,
        verdict=verdict,
        errors=_errors(causes, deciding),
        causes=causes,
        fatbins=_count(aim),
        jit_forbidden=_under(aim, JitPass.FORBIDDEN, deciding, policy),
        jit_forced=_under(aim, JitPass.FORCED, deciding, policy),
        floor=floor,
    )


def _ranked(aim: Aim, claims: list[Claim]) -> tuple[str, ...]:
    """Causes, decisive first: what the rule order says, but among device-code rules what stops most containers."""
    first = Counter[str]()
    for load in aim.loads:
        if load.selection.obstacles and not load.excused:
            first[load.selection.obstacles[0].rule] += load.unit.count
    lowest = min((_ORDER[rule] for rule in _DEVICE if rule in _ORDER), default=0)
    causes = {claim.rule for claim in claims}
    return tuple(
        sorted(
            causes,
            key=lambda rule: (lowest, -first[rule], _ORDER[rule]) if rule in _DEVICE else (_ORDER[rule], 0, 0),
        )
    )


def _errors(causes: tuple[str, ...], claims: list[Claim]) -> tuple[str, ...]:
    met = ((causes.index(claim.rule), -claim.count, claim.error) for claim in claims if claim.error)
    return tuple(dict.fromkeys(error for _, _, error in sorted(met)))


def _count(aim: Aim) -> FatbinCount:
    counted = Counter[str]()
    for load in aim.loads:
        counted[_served(load)] += load.unit.count
    return FatbinCount(
        total=sum(counted.values()),
        native=counted["native"],
        jit=counted["jit"],
        by_design=counted["by_design"],
        unloadable=counted["unloadable"],
    )


def _served(load: Load) -> str:
    if load.excused:
        return "by_design"
    if not load.selection.loads:
        return "unloadable"
    return "native" if load.selection.via is Via.CUBIN else "jit"


def _under(aim: Aim, jit: JitPass, deciding: list[Claim], policy: Policy) -> PassVerdict:
    """Another JIT setting: the device code is judged anew, every other cause stays."""
    met_as_is = {(item.rule, str(load.unit.library)) for load in aim.loads for item in load.selection.obstacles}
    others = [claim for claim in deciding if claim.rule not in _DEVICE and (claim.rule, claim.group) not in met_as_is]
    loads = [load for load in replay(aim, jit, policy) if not load.excused]
    met = Counter[str]()
    for load in loads:
        if load.selection.result != SUCCESS:
            met[load.selection.result] += load.unit.count
    commonest = sorted(met, key=lambda name: (-met[name], name))  # the order of members must not show
    errors = dict.fromkeys([claim.error for claim in others if claim.error] + commonest)
    if met or any(claim.effect is Effect.FAIL for claim in others):
        return PassVerdict(Verdict.FAIL, tuple(errors))
    doubtful = any(load.selection.doubtful for load in loads) or bool(others)
    return PassVerdict(Verdict.UNKNOWN if doubtful else Verdict.PASS, tuple(errors) if doubtful else ())


def outcome(rule: Rule, examination: Examination) -> Outcome:
    """What became of a rule. Not applicable has a reason; applicable without having examined anything is an error."""
    effects = {claim.effect for claim in examination.claims}
    if Effect.FAIL in effects:
        return Outcome(rule=rule.id, status=Status.FAIL, examined=examination.examined)
    if Effect.DOUBT in effects:
        return Outcome(rule=rule.id, status=Status.ERROR, examined=examination.examined, reason="not decidable")
    if examination.not_applicable is not None:
        return Outcome(
            rule=rule.id,
            status=Status.NOT_APPLICABLE,
            examined=examination.examined,
            reason=examination.not_applicable,
        )
    if examination.examined == 0:
        return Outcome(rule=rule.id, status=Status.ERROR, examined=0, reason="nothing was examined")
    return Outcome(rule=rule.id, status=Status.PASS, examined=examination.examined)


def findings(claims: Iterable[Claim]) -> tuple[Finding, ...]:
    """Claims told once: those of one library that differ only in target or container are one finding with a count."""
    groups: dict[tuple[str, Effect, str, str, str, str], list[Claim]] = {}
    for claim in claims:
        key = (claim.rule, claim.effect, claim.group or claim.path, claim.declared, claim.observed, claim.remedy)
        groups.setdefault(key, []).append(claim)
    told = [_finding(group) for group in groups.values()]
    worst = list(Severity)
    return tuple(sorted(told, key=lambda item: (worst.index(item.severity), _ORDER[item.rule], -item.count, item.path)))


def _finding(group: list[Claim]) -> Finding:
    first = group[0]
    places = {claim.path: claim.count for claim in group}
    targets = dict.fromkeys(target for claim in group for target in claim.targets)
    return Finding(
        rule=first.rule,
        severity=_SEVERITY[first.effect],
        path=first.path,
        declared=first.declared,
        observed=first.observed,
        remedy=first.remedy,
        count=sum(places.values()),
        targets=tuple(targets),
    )
