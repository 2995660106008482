"""What a rule that only assemblers can judge looked at: most runs ask none, and load nothing else for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.subject import Examination

if TYPE_CHECKING:
    from pipeline.rules.subject import Subject

NOT_REHEARSED = "no PTX was assembled; --rehearse does"
IDLE = "no target would compile PTX"


def examine(subject: Subject) -> Examination:
    """How many rehearsed things there are; their claims are added by ``rehearsed_claims``."""
    if subject.rehearsal is None:
        return Examination(0, (), NOT_REHEARSED)
    examined = subject.rehearsal.examined
    return Examination(examined, (), None if examined else IDLE)
