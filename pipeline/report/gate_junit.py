"""The gate's verdict as JUnit XML: one suite for each lane, one case for each check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import ExitStatus
from pipeline.gate.standing import Standing
from pipeline.model.finding import Status
from pipeline.report.junit import Case, Ending, Suite, junit_xml
from pipeline.report.times_view import taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.gate import CheckStanding, LaneVerdict


def gate_junit(verdicts: Sequence[LaneVerdict]) -> str:
    """The document. Missing evidence is an error: nobody looked, and that refuses as much as a failure does."""
    return junit_xml([_suite(verdict) for verdict in verdicts])


def _suite(verdict: LaneVerdict) -> Suite:
    properties = [("verdict", "approved" if verdict.approved else "refused")]
    if verdict.artifact:
        properties.append(("sha256", verdict.artifact.sha256))
    cases = [_case(verdict, check) for check in verdict.checks]
    if not verdict.approved and all(case.ending in {Ending.PASSED, Ending.SKIPPED} for case in cases):
        # A lane that requires nothing, or has no bytes, must not look green.
        cases.append(Case(verdict.lane.id, "verdict", Ending.ERROR, "refused: nothing speaks for it", "missing"))
    return Suite(f"gate {verdict.lane.id}", tuple(cases), tuple(properties))


def _case(verdict: LaneVerdict, check: CheckStanding) -> Case:
    return Case(
        verdict.lane.id,
        check.check,
        _ending(verdict, check),
        check.reason or check.standing.value,
        check.standing.value,
        seconds=taken(check.evidence),
    )


def _ending(verdict: LaneVerdict, check: CheckStanding) -> Ending:
    if check.standing is Standing.WAIVED:
        return Ending.SKIPPED
    if check.standing.approves:
        return Ending.PASSED
    looked = check.evidence is not None and check.evidence.outcome.status is Status.FAIL
    product = check.standing is Standing.FAILED and looked and verdict.trouble is ExitStatus.PASS
    return Ending.FAILURE if product else Ending.ERROR
