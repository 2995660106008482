"""What a report says about ``by_design`` and ``never_by_design``: where they decided, and where they name nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.naming import naming
from pipeline.rules.subject import Claim, Effect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.rules.subject import Subject

_NOBODY = "no library of that name with device code"


def pardons(subject: Subject, rule: str) -> Iterator[Claim]:
    """Notes on what would have failed by that rule and is excused by ``by_design``."""
    for aim, load, obstacle in subject.pardoned(rule):
        yield Claim(
            rule=rule,
            effect=Effect.NOTE,
            path=str(load.unit.path),
            declared=load.ruling,
            observed=f"excused by the lane: {obstacle.observed}",
            remedy="remove the pattern from by_design to have it counted",
            count=load.unit.count,
            targets=(aim.label,),
            group=str(load.unit.library),
        )


def unmatched(subject: Subject, rule: str) -> Iterator[Claim]:
    """Patterns that name no library: a warning for ``by_design``, a failure for what must be whole and is not there."""
    if subject.declaration is None:
        return
    libraries = {unit.library for unit in subject.units}
    for setting, effect, patterns in (
        ("by_design", Effect.WARNING, subject.declaration.by_design),
        ("never_by_design", Effect.FAIL, subject.declaration.never_by_design),
    ):
        for pattern in patterns:
            if not any(naming(library, (pattern,)) for library in libraries):
                yield Claim(
                    rule=rule,
                    effect=effect,
                    path=subject.inventories[0].root,
                    declared=f"{setting}: {pattern}",
                    observed=_NOBODY,
                    remedy=f"correct the pattern, or remove it from {setting}",
                    targets=subject.labels,
                )
