"""An audit as one page: verdict, targets, findings with what to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.finding import Status, Verdict
from pipeline.model.size import size_text
from pipeline.report.coverage import coverage, of_report
from pipeline.report.html_page import SEVERITIES, Mark, html_page
from pipeline.report.shown import counted
from pipeline.report.told import by_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.model.finding import Finding, Outcome, Severity
    from pipeline.report.coverage import Coverage
    from pipeline.report.told import RuleFindings, Told

MOST_OF_A_RULE = 50
MOST_FINDINGS = 1000
MOST_ROWS = 500
MOST_GROUPS = 60
MOST_LIBRARIES = 20
_MOST_NAMES = 12
_WORDS = {Verdict.PASS: "✓ pass", Verdict.FAIL: "✕ fail", Verdict.UNKNOWN: "? unknown"}
_SHADES = {Verdict.PASS: "g", Verdict.FAIL: "b", Verdict.UNKNOWN: "w"}


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """A rule's findings, those that the page has room for, and how many it has not."""

    rule: str
    severity: Severity
    count: int
    about: str
    shown: tuple[Finding, ...]
    left_out: int

    @property
    def alike(self) -> tuple[tuple[Finding, ...], ...]:
        """Those shown, together where all but what was observed is one: place, fix, and whom it meets."""
        together: dict[object, list[Finding]] = {}
        for finding in self.shown:
            same = (finding.path, finding.declared, finding.remedy, finding.targets, finding.kernels)
            together.setdefault(same, []).append(finding)
        return tuple(map(tuple, together.values()))


_STATUSES = {
    Status.FAIL: Mark("✕ fail", "b"),
    Status.ERROR: Mark("? error", "b"),
    Status.SKIPPED: Mark("? skipped", "w"),
    Status.WAIVED: Mark("~ waived", "w"),
}


def audit_html(told: Told) -> str:
    """The page; lists that are too long for one end with how many more there are."""
    libraries = _coverage(told)
    values = {
        "told": told,
        "targets": told.targets[:MOST_ROWS],
        "artifacts": told.artifacts[:MOST_OF_A_RULE],
        "notes": told.notes[:MOST_ROWS],
        "groups": tuple(_groups(by_rule(told.findings))),
        "coverage": libraries[:MOST_LIBRARIES],
        "libraries_left_out": len(libraries[MOST_LIBRARIES:]),
        "missing": _missing(told),
        "outcomes": sorted((item for item in told.outcomes if item.status in _STATUSES), key=_gravest_first),
        "idle": [item for item in told.outcomes if item.status is Status.NOT_APPLICABLE],
        "statuses": {**_STATUSES, Status.NOT_APPLICABLE: Mark("not applicable", "n")},
        "passed": sum(item.status is Status.PASS for item in told.outcomes),
        "words": _WORDS,
        "shades": _SHADES,
        "severities": SEVERITIES,
        "size": size_text,
    }
    return html_page("audit.j2", f"{told.verdict.value}: audit of {told.name}", values)


def _gravest_first(outcome: Outcome) -> int:
    return list(_STATUSES).index(outcome.status)


def _coverage(told: Told) -> tuple[Coverage, ...]:
    groups = of_report(told.kernels.groups) if told.kernels is not None else ()
    return coverage(groups, most=MOST_GROUPS, partial_only=False)


def _missing(told: Told) -> tuple[str, ...]:
    """For each target the kernels that the images serving it lack."""
    missing = told.kernels.missing if told.kernels is not None else ()
    return tuple(f"{label}: {_several(names)}" for label, names in missing[:MOST_ROWS] if names)


def _several(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"


def _groups(groups: Sequence[RuleFindings]) -> Iterator[ShownGroup]:
    left = MOST_FINDINGS
    for group in groups:
        kept = group.findings[: min(MOST_OF_A_RULE, left)]
        left -= len(kept)
        about = counted(len(group.findings), "finding") if len(group.findings) > 1 else ""
        yield ShownGroup(group.rule, group.severity, group.count, about, kept, len(group.findings) - len(kept))
