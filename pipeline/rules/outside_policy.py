"""A driver or GPU that the policy tables do not know.

What: the target's driver branch is newer or older than the tables, or its SM number is not in them.

Why: nothing can be said about it from bytes alone. Saying "pass" would be a guess, so the verdict is "unknown".

Remedy: use a newer version of this tool, or name a driver that the tables know (`cubingate policy branches`).

Source: the date of the policy tables, printed with the finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from pipeline.rules.subject import Subject

RULE = "outside-policy"


def check(subject: Subject) -> Examination:
    """Every target about which the tables are silent."""
    claims = tuple(
        Claim(
            rule=RULE,
            effect=Effect.DOUBT,
            path=aim.label,
            declared=f"runs on sm_{aim.target.sm} with driver {aim.target.driver}",
            observed=aim.doubt,
            remedy="use a newer version of this tool, or a driver and GPU that `cubingate policy` lists",
            targets=(aim.label,),
        )
        for aim in subject.aims
        if aim.doubt is not None
    )
    return Examination(len(subject.aims), claims, None if subject.aims else "no target was named")
