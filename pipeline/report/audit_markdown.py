"""An audit as a job summary: the verdict for each target first, what is wrong folded below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.finding import Status, Verdict
from pipeline.report.markdown import details, plain, table, within
from pipeline.report.shown import counted, times
from pipeline.report.told import by_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model.finding import Finding
    from pipeline.report.told import RuleFindings, Told

SIGNS = {Verdict.PASS: "✅ pass", Verdict.FAIL: "❌ fail", Verdict.UNKNOWN: "❔ unknown"}
MOST_FINDINGS = 20
"""Of one rule; the others are counted."""


def audit_markdown(told: Told) -> str:
    """The page, within GitHub's limit."""
    pieces = [f"### {SIGNS[told.verdict]}: audit of {plain(told.name)}", ""]
    if told.targets:
        rows = ((SIGNS[item.verdict], plain(_label(item.label, item.gpu)), plain(item.why)) for item in told.targets)
        pieces += table(("verdict", "target", "why"), rows)
    groups = by_rule(told.findings)
    if groups:
        pieces += table(
            ("", "rule", "stands for", "fix"),
            (
                (group.severity.value, plain(group.rule), str(group.count), plain(group.findings[0].remedy))
                for group in groups
            ),
        )
    pieces += [_group(group) for group in groups]
    pieces.append(details("What was looked at", _looked(told)))
    return within(pieces)


def _label(label: str, gpu: str | None) -> str:
    return f"{label} ({gpu})" if gpu else label


def _group(group: RuleFindings) -> str:
    title = f"{group.severity}: {group.rule}{times(group.count)}, {counted(len(group.findings), 'finding')}"
    lines = [line for finding in group.findings[:MOST_FINDINGS] for line in _finding(finding)]
    if len(group.findings) > MOST_FINDINGS:
        lines += ["", f"{len(group.findings) - MOST_FINDINGS} more findings of this rule (JSON has all)."]
    return details(title, lines)


def _finding(finding: Finding) -> Iterator[str]:
    targets = finding.targets[:12]
    more = f" and {len(finding.targets) - 12} more" if len(finding.targets) > 12 else ""
    on = f" (on {', '.join(plain(label) for label in targets)}{more})" if targets else ""
    yield f"* **observed** {plain(finding.observed)}{times(finding.count)}{on}"
    yield f"  * **declared** {plain(finding.declared)}"
    yield f"  * **fix** {plain(finding.remedy)}"
    yield f"  * **at** {plain(finding.path)}"


def _looked(told: Told) -> Iterator[str]:
    yield f"* **examined** {plain(told.examined)}"
    for item in told.artifacts[:MOST_FINDINGS]:
        yield f"* **artifact** {plain(item.path)}, {plain(item.format)}, {item.size} bytes, sha256 {item.sha256}"
    if len(told.artifacts) > MOST_FINDINGS:
        yield f"* {len(told.artifacts) - MOST_FINDINGS} more artifacts"
    for note in told.notes[:MOST_FINDINGS]:
        yield f"* **note** {plain(note)}"
    for outcome in told.outcomes:
        if outcome.status is not Status.PASS:
            reason = f": {plain(outcome.reason)}" if outcome.reason else ""
            yield f"* **{outcome.status}** {plain(outcome.rule)}{reason}"
