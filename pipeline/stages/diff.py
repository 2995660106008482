"""Diff: what the bundle lost against the one that was released before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.machine import this_machine
from pipeline.model.finding import Outcome, Severity, Status, Verdict
from pipeline.stages.check import Observation

if TYPE_CHECKING:
    from pipeline.diff import Difference
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane
    from pipeline.stages.street import Street


def diff_lane(lane: Lane, artifact: Artifact, check: str, street: Street) -> Observation:
    """Fetch the bundle released before (its bytes equal the pin) and compare, kernels too."""
    from pipeline.build.source import fetch_prebuilt
    from pipeline.diff import compare
    from pipeline.inventory import take_inventory
    from pipeline.policy import load_policy
    from pipeline.report.diff_json import diff_document
    from pipeline.rules.declaration import Declaration

    if lane.previous is None:
        raise UsageError(f"{lane.id}: nothing to compare with", remedy="set previous: NAME in matrix.yaml")
    with street.talk.step(lane.id, check) as step:
        previous = fetch_prebuilt(lane.previous, street.state / "cache", street.build.network, step.note)
        old = take_inventory(previous, kernels=True, sha256=lane.previous.sha256)
        new = take_inventory(artifact.path, kernels=True)
        found = compare(old, new, load_policy(), declaration=Declaration.of(lane), allow=lane.may_lose)
    return Observation(_outcome(check, found), this_machine(engine="none"), diff_document(found), found.status)


def _outcome(check: str, found: Difference) -> Outcome:
    if not found.corrupt and found.examined and found.verdict is Verdict.PASS:
        return Outcome(rule=check, status=Status.PASS, examined=found.examined)
    return Outcome(rule=check, status=Status.FAIL, examined=found.examined, reason=_reason(found))


def _reason(found: Difference) -> str:
    lost = [finding for finding in found.findings if finding.severity is Severity.ERROR]
    if found.corrupt or not lost:
        return "one of the two bundles is corrupt" if found.corrupt else "nothing to compare"
    more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
    return f"{lost[0].rule}: {lost[0].observed}{more}"
