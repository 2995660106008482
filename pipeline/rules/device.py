"""What all rules about device code have in common: each says both sides of its obstacle, the rest is done here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.rules.obstacle import Certainty
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pipeline.rules.obstacle import Obstacle
    from pipeline.rules.subject import Aim, Load, Subject


@dataclass(frozen=True, slots=True)
class Told:
    """What a rule adds to an obstacle: the promise that it breaks, and what to change."""

    declared: str
    remedy: str


def examine_device(
    subject: Subject,
    rule: str,
    tell: Callable[[Aim, Obstacle], Told],
    *,
    examined: int,
    more: Iterable[Claim] = (),
) -> Examination:
    """Every unit in whose way that rule's obstacle stands; not applicable without device code or without a target."""
    if not subject.units:
        return Examination(0, (), "no device code in the input")
    if not subject.aims:
        return Examination(examined, (), "no target was named")
    return Examination(examined, (*device_claims(subject, rule, tell), *more))


def device_claims(subject: Subject, rule: str, tell: Callable[[Aim, Obstacle], Told]) -> tuple[Claim, ...]:
    """A claim for each unit that does not load on a target because of that rule's obstacle, or may not."""
    return tuple(_claim(aim, load, met, tell(aim, met)) for aim, load, met in subject.met(rule))


def _claim(aim: Aim, load: Load, obstacle: Obstacle, told: Told) -> Claim:
    return Claim(
        rule=obstacle.rule,
        effect=Effect.FAIL if obstacle.certainty is Certainty.CERTAIN else Effect.DOUBT,
        path=str(load.unit.path),
        declared=f"{told.declared} ({load.ruling})" if load.ruling else told.declared,
        observed=obstacle.observed,
        remedy=told.remedy,
        count=load.unit.count,
        targets=(aim.label,),
        error=obstacle.error,
        group=str(load.unit.library),
    )


def examine_unserved(subject: Subject, rule: str, remedy: Callable[[Obstacle], str]) -> Examination:
    """Every target whose GPU its driver does not serve by that rule, whatever the artifact holds."""
    claims = tuple(
        Claim(
            rule=rule,
            effect=Effect.FAIL,
            path=aim.label,
            declared=f"runs on sm_{aim.target.sm} with driver {aim.target.driver}",
            observed=aim.unserved.observed,
            remedy=remedy(aim.unserved),
            targets=(aim.label,),
            error=aim.unserved.error,
        )
        for aim in subject.aims
        if aim.unserved is not None and aim.unserved.rule == rule
    )
    return Examination(len(subject.aims), claims, None if subject.aims else "no target was named")
