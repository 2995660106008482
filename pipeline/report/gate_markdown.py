"""The gate's verdict as a job summary: one row for each lane, checks and findings folded below, refused lanes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report.gate_view import MARKS, MEANINGS, lane_view
from pipeline.report.markdown import details, plain, table, within
from pipeline.report.shown import times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.gate import LaneVerdict
    from pipeline.report.gate_view import LaneView


def gate_markdown(verdicts: Sequence[LaneVerdict]) -> str:
    """The page, within GitHub's limit."""
    lanes = [lane_view(verdict) for verdict in verdicts]
    approved = sum(lane.approved for lane in lanes)
    sign = "✅" if approved == len(lanes) else "❌"
    pieces = [f"### {sign} gate: {approved} of {len(lanes)} lanes approved", ""]
    pieces += table(("verdict", "lane", "targets", "why"), (_row(lane) for lane in lanes))
    pieces += [f"{' · '.join(f'{MARKS[key]} {key.value}: {MEANINGS[key]}' for key in MARKS)}".replace("~", r"\~"), ""]
    pieces += [_lane(lane) for lane in sorted(lanes, key=lambda lane: lane.approved)]
    return within(pieces)


def _changed(lane: LaneView) -> Iterator[str]:
    """What became of the last release, but what is among the findings already."""
    change = lane.change
    if change is not None:
        yield from (f"* **driver raised** {plain(floor)}" for floor in change.raised)
        yield from (f"* **driver lowered** {plain(floor)}" for floor in change.lowered)
        yield from (f"* **{loss.severity}** {plain(loss.rule)}: {plain(loss.observed)}" for loss in lane.besides)
        yield from (f"* **grew** {plain(member)}" for member in change.members)


def _row(lane: LaneView) -> tuple[str, ...]:
    marks = (plain(f"{MARKS[target.standing]} {target.label} {target.standing.value}") for target in lane.targets)
    word = "✅ approved" if lane.approved else "❌ refused"
    return _unbroken(word), plain(lane.id), "<br>".join(map(_unbroken, marks)) or "none", plain(lane.why)


def _unbroken(words: str) -> str:
    """On one line, however much the last column has to say: the sign stays with its target."""
    return words.replace(" ", "&nbsp;")


def _lane(lane: LaneView) -> str:
    return details(f"{'approved' if lane.approved else 'refused'}: {lane.id}", _inside(lane))


def _inside(lane: LaneView) -> Iterator[str]:
    yield from (f"* **{name}** {plain(value)}" for name, value in lane.facts)
    for group in lane.groups:
        reason = f": {plain(group.reason)}" if group.reason else ""
        seen = f" ({plain(group.seen)})" if group.seen else ""
        names = plain(", ".join(group.checks))
        yield f"* {MARKS[group.standing].replace('~', chr(92) + '~')} **{group.standing}** {names}{reason}{seen}"
    for target in lane.targets:
        yield f"* **target** {plain(target.label)} {plain(target.gpu)}: {target.standing}; {plain(target.known_by)}"
    yield from _changed(lane)
    for finding in lane.findings:
        yield f"* **{plain(finding.rule)}** {plain(finding.observed)}{times(finding.count)}"
        yield f"  * **fix** {plain(finding.remedy)}"
        yield f"  * **at** {plain(finding.path)}"
    if lane.left_out:
        yield f"* {lane.left_out} more findings"
