"""Named exceptions: what a waiver covers, until when, and what of a failure none covers."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pipeline.gate.standing import CheckStanding, Standing, word_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from pipeline.model.lane import Waiver


def waive(standing: CheckStanding, waivers: Sequence[Waiver], today: date) -> CheckStanding:
    """The standing of a check that refuses, where ``waivers`` name it.

    One without a rule covers the whole check; those with one cover the findings of that rule, and only a failure whose
    every error is covered is waived. From the day after it expires a waiver covers nothing, and the reason says so.
    """
    own = [waiver for waiver in waivers if waiver.check == standing.check]
    if standing.standing.approves or not own:
        return standing
    valid = [waiver for waiver in own if waiver.expires >= today.isoformat()]
    whole = [waiver for waiver in valid if waiver.rule is None]
    if whole:
        return _waived(standing, [max(whole, key=lambda waiver: waiver.expires)])
    used, uncovered = _coverage(standing, valid)
    if used and uncovered is None:
        return _waived(standing, used)
    return replace(standing, reason=f"{standing.reason} ({_why_not(own, valid, uncovered)})")


def _coverage(standing: CheckStanding, waivers: Sequence[Waiver]) -> tuple[list[Waiver], str | None]:
    """The waivers that cover the errors of the record, and the first error that none covers."""
    used: dict[Waiver, None] = {}
    for rule, path in _errors(standing):
        covering = next((waiver for waiver in waivers if waiver.rule == rule and _fits(waiver, path)), None)
        if covering is None:
            return list(used), f"{word_of(rule)} at {word_of(path)}"
        used[covering] = None
    return list(used), None


def _errors(standing: CheckStanding) -> Iterator[tuple[str, str]]:
    """Rule and path of every error that the check found; none where it did not get to look."""
    findings = standing.evidence.document.get("findings") if standing.evidence is not None else None
    for row in findings if isinstance(findings, list) else ():
        if isinstance(row, dict) and row.get("severity") == "error":
            yield str(row.get("rule")), str(row.get("path"))


def _fits(waiver: Waiver, path: str) -> bool:
    """Whether the pattern names the member at ``path``, or one that it lies in; without a pattern every path fits."""
    if waiver.path is None:
        return True
    inside = path.partition("!/")[2] or path
    return fnmatchcase(inside, waiver.path) or fnmatchcase(inside, f"{waiver.path}!/*")


def _waived(standing: CheckStanding, waivers: Sequence[Waiver]) -> CheckStanding:
    told = "; ".join(f"{_what(waiver)}until {waiver.expires} by {waiver.owner}: {waiver.reason}" for waiver in waivers)
    return replace(
        standing, standing=Standing.WAIVED, reason=f"waived {told} (else {standing.standing}: {standing.reason})"
    )


def _what(waiver: Waiver) -> str:
    return f"for {waiver.rule}{f' at {waiver.path}' if waiver.path else ''} " if waiver.rule else ""


def _why_not(own: Sequence[Waiver], valid: Sequence[Waiver], uncovered: str | None) -> str:
    if not valid:
        last = max(own, key=lambda waiver: waiver.expires)
        return f"the waiver of {last.owner} expired on {last.expires}"
    return f"no waiver covers {uncovered}" if uncovered else "its waivers name rules, and it found no error of one"
