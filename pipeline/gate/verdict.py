"""The gate's word on one lane, and the pass that publishers ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import ExitStatus
from pipeline.gate.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.gate.standing import CheckStanding, TargetStanding
    from pipeline.model.artifact import Artifact
    from pipeline.model.evidence import Evidence
    from pipeline.model.lane import Lane


@dataclass(frozen=True, slots=True)
class LaneVerdict:
    """Whether one lane may be published, check by check, and how each of its targets is known to be served.

    ``artifact`` is ``None`` where nothing was built; ``trouble`` is the exit status of what kept the gate from judging
    at all, such as a damaged record. ``built`` is the record of its build, on which nothing depends: it says how long
    that took.
    """

    lane: Lane
    artifact: Artifact | None
    checks: tuple[CheckStanding, ...]
    targets: tuple[TargetStanding, ...] = ()
    trouble: ExitStatus = ExitStatus.PASS
    built: Evidence | None = None

    @property
    def approved(self) -> bool:
        """True when there are bytes, at least one required check, and none of them says no."""
        return self.artifact is not None and bool(self.checks) and all(check.standing.approves for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """The lane's row of the contract's ``gate`` document, with reasons and targets beside it."""
        row: dict[str, Any] = {
            "id": self.lane.id,
            "sha256": self.artifact.sha256 if self.artifact else None,
            "verdict": "approved" if self.approved else "refused",
            "required": [check.check for check in self.checks],
        }
        for standing in Standing:
            row[standing.value] = [check.check for check in self.checks if check.standing is standing]
        row["reasons"] = {check.check: check.reason for check in self.checks if check.reason}
        row["targets"] = [target.to_json() for target in self.targets]
        return row


@dataclass(frozen=True, slots=True)
class Approved:
    """Bytes that may be published. Publishers take nothing else, and only ``approve`` makes one."""

    artifact: Artifact
    verdict: LaneVerdict


def approve(verdict: LaneVerdict) -> Approved:
    """Turn an approving verdict into a pass for the publishers; ``ValueError`` for any other."""
    if not verdict.approved or verdict.artifact is None:
        raise ValueError(f"{verdict.lane.id} is not approved")
    return Approved(verdict.artifact, verdict)


def status_of(verdicts: Sequence[LaneVerdict]) -> ExitStatus:
    """The exit status of a gate over several lanes: the gravest wins."""
    said = [ExitStatus.PASS if verdict.approved else ExitStatus.REFUSED for verdict in verdicts]
    return ExitStatus.gravest([*said, *(verdict.trouble for verdict in verdicts)])
