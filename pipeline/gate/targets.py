"""How each promised target is known to be served: proven, rehearsed, inferred or not at all, never mixed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.gate.audited import fails_elsewhere, failure_of, passed_rules, passes
from pipeline.gate.standing import Standing, TargetStanding
from pipeline.model.finding import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pipeline.gate.standing import CheckStanding
    from pipeline.model.evidence import Evidence
    from pipeline.model.lane import Lane
    from pipeline.model.target import Target
    from pipeline.policy import Policy

_NOTHING_KNOWN = "neither seen on such a GPU nor judged by an audit"


def stand_target(
    target: Target, lane: Lane, checks: Mapping[str, CheckStanding], about: Sequence[Evidence], policy: Policy
) -> TargetStanding:
    """How ``target`` stands. ``checks`` are the lane's and those that prove the target, ``about`` all records."""
    proving = [checks[check] for check in _proving(target, lane) if check in checks]
    elsewhere = _elsewhere(target, about, policy)
    compiling = [checks[target.compilation]] if target.compilation in lane.required else []
    failed = [check for check in (*proving, *compiling) if check.standing is Standing.FAILED]
    if failed:
        return TargetStanding(target, Standing.FAILED, f"{failed[0].check}: {failed[0].reason}", elsewhere=elsewhere)
    if proving and all(check.standing is Standing.PROVEN for check in proving):
        proofs = tuple(check.evidence for check in proving if check.evidence is not None)
        return TargetStanding(target, Standing.PROVEN, "", proofs, elsewhere=elsewhere)
    rehearsal = checks.get(target.rehearsal)
    if rehearsal is not None and _refuses(rehearsal, lane):
        return TargetStanding(target, Standing.FAILED, f"{rehearsal.check}: {rehearsal.reason}", elsewhere=elsewhere)
    looked_for = [*compiling, *proving, *([] if rehearsal is None else [rehearsal])]
    required = [check for check in looked_for if check.check in lane.required]
    return _rehearsed(_inferred(target, checks.get("audit"), required or proving, elsewhere), rehearsal)


def _refuses(rehearsal: CheckStanding, lane: Lane) -> bool:
    """A refusal counts whoever asked; an assembler that could not be tried only where it had to be."""
    if rehearsal.standing is not Standing.FAILED or rehearsal.evidence is None:
        return False
    return rehearsal.check in lane.required or rehearsal.evidence.outcome.status is Status.FAIL


def _rehearsed(inferred: TargetStanding, rehearsal: CheckStanding | None) -> TargetStanding:
    """More than inferred where an assembler accepted all that would be compiled; never without a passing audit."""
    if rehearsal is None or rehearsal.evidence is None or inferred.standing is not Standing.INFERRED:
        return inferred
    if rehearsal.standing is not Standing.REHEARSED:
        return replace(inferred, reason=inferred.reason or rehearsal.reason)
    return replace(inferred, standing=Standing.REHEARSED, rehearsals=(rehearsal.evidence,))


def _inferred(
    target: Target, audit: CheckStanding | None, proving: Iterable[CheckStanding], elsewhere: tuple[str, ...]
) -> TargetStanding:
    """What the bytes say where no GPU did; a waived check stays visible as one."""
    waived = next((check for check in proving if check.standing is Standing.WAIVED), None)
    lacking = next((check for check in proving if check.standing is Standing.MISSING), None)
    why = f"{lacking.check}: {lacking.reason}" if lacking else ""
    if audit is None or audit.evidence is None:
        return TargetStanding(target, Standing.MISSING, why or _NOTHING_KNOWN, elsewhere=elsewhere)
    if not _speaks_for(audit, target.label):
        against = failure_of(audit.evidence, target.label) if audit.standing is Standing.FAILED else ""
        reason = f"audit: {against or audit.reason or 'has no passing verdict for it'}"
        standing = Standing.FAILED if audit.standing is Standing.FAILED else Standing.MISSING
        return TargetStanding(target, standing, reason, elsewhere=elsewhere)
    rules = passed_rules(audit.evidence)
    if waived is not None:
        return TargetStanding(target, Standing.WAIVED, waived.reason, rules=rules, elsewhere=elsewhere)
    return TargetStanding(target, Standing.INFERRED, why, rules=rules, elsewhere=elsewhere)


def _speaks_for(audit: CheckStanding, label: str) -> bool:
    """Whether the bytes say that the target is served; an audit that failed for other targets alone says so too."""
    if audit.evidence is None or not passes(audit.evidence, label):
        return False
    return audit.standing is Standing.INFERRED or (
        audit.standing is Standing.FAILED and fails_elsewhere(audit.evidence, label)
    )


def _proving(target: Target, lane: Lane) -> tuple[str, ...]:
    """The checks that this lane wants of the target; both where it wants none, so that what was seen is not lost."""
    return tuple(check for check in target.checks if check in lane.required) or target.checks


def _elsewhere(target: Target, about: Iterable[Evidence], policy: Policy) -> tuple[str, ...]:
    """Other drivers on which a GPU of this SM passed a check with these bytes."""
    labels = (
        record.machine.target
        for record in about
        if record.outcome.status is Status.PASS and record.machine.sm == target.sm
    )
    return tuple(dict.fromkeys(label for label in labels if label and not policy.proves(label, target.label)))
