"""A distribution of which something was not looked at.

What: part of an environment is named and not judged: an editable installation, whose code lies in another folder; files
that are links out of what was read; a site-packages that is itself a link; the system's packages, which a pyvenv.cfg
includes; folders that a .pth file adds; a wheel for another platform; in a lock file, a distribution of which only a
source archive exists or no wheel fits. What is wrong with metadata (a broken or missing RECORD, libraries that RECORD
lists and that are gone) is told as a warning: all files are judged all the same, only whose they are is guessed by
folder.

Why: what nobody looked at must not count as a pass. A build from source has the device code that the machine which
builds it gives it, and not what a published wheel has.

Remedy: audit the other folder in the same run (name it as a further PATH), build the wheel and audit that, or install
the distribution again.

Source: Python packaging specifications: recording installed projects, direct URL origin, binary distribution format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model.distribution import Distribution
    from pipeline.rules.subject import Subject

RULE = "distribution-unread"


def check(subject: Subject) -> Examination:
    """Every distribution with something that was not read, or with flawed metadata."""
    if not subject.distributions:
        return Examination(0, (), "no distribution in the input")
    claims = (claim for item in subject.distributions for claim in _claims(subject, item))
    return Examination(len(subject.distributions), tuple(claims))


def _claims(subject: Subject, item: Distribution) -> Iterator[Claim]:
    for why in item.unread:
        yield _claim(item, why, Effect.DOUBT, subject.labels)
    for flaw in item.flaws:
        yield _claim(item, flaw, Effect.WARNING if item.members or "not there" in flaw else Effect.NOTE, ())


def _claim(item: Distribution, why: str, effect: Effect, targets: tuple[str, ...]) -> Claim:
    unread = effect is Effect.DOUBT
    return Claim(
        rule=RULE,
        effect=effect,
        path=item.path,
        declared="all of it is judged" if unread else "its metadata is complete",
        observed=f"{item.label}: {why}",
        remedy="audit that as well, in the same run" if unread else "install it again",
        targets=targets,
        group=item.path,
    )
