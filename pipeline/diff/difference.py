"""What a comparison of two artifacts says, as values: writers print it, the gate keeps it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.errors import ExitStatus
from pipeline.model.finding import Outcome, Severity, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.audit.kernels import KernelGroup
    from pipeline.audit.report import AuditedArtifact, Floor
    from pipeline.model.finding import Finding


@dataclass(frozen=True, slots=True)
class FloorPair:
    """The lowest driver for one GPU generation, before and after."""

    sm: int
    old: Floor
    new: Floor


@dataclass(frozen=True, slots=True)
class SizePair:
    """A member's size in bytes before and after, 0 where it is not there; ``path`` is relative to the artifact."""

    path: str
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Compared:
    """What one rule of the comparison did: its findings over so many things, or why there was nothing to compare."""

    rule: str
    examined: int
    findings: tuple[Finding, ...] = ()
    not_applicable: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that a comparison says. ``corrupt`` is true when one of the two could not be read whole.

    ``kernels`` are the groups of the new one, empty where kernels were not read.
    """

    old: AuditedArtifact
    new: AuditedArtifact
    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]
    floors: tuple[FloorPair, ...]
    sizes: tuple[SizePair, ...]
    corrupt: bool
    examined: int
    kernels: tuple[KernelGroup, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Fail where something was lost and not allowed, or could not be read."""
        lost = self.corrupt or any(outcome.status is Status.FAIL for outcome in self.outcomes)
        return Verdict.FAIL if lost else Verdict.PASS

    @property
    def status(self) -> ExitStatus:
        """The exit status that the contract gives."""
        if self.corrupt:
            return ExitStatus.CORRUPT_INPUT
        if not self.examined:
            return ExitStatus.NOTHING_EXAMINED
        return ExitStatus.REFUSED if self.verdict is Verdict.FAIL else ExitStatus.PASS


def outcome(compared: Compared, allowed: Sequence[str]) -> Outcome:
    """What became of a rule: errors fail it unless it is allowed to lose something."""
    lost = [finding for finding in compared.findings if finding.severity is Severity.ERROR]
    if compared.not_applicable:
        return Outcome(rule=compared.rule, status=Status.NOT_APPLICABLE, examined=0, reason=compared.not_applicable)
    if not compared.examined:
        return Outcome(
            rule=compared.rule, status=Status.NOT_APPLICABLE, examined=0, reason="nothing of the kind in OLD"
        )
    if lost and compared.rule in allowed:
        reason = f"allowed: {lost[0].observed}"
        return Outcome(rule=compared.rule, status=Status.WAIVED, examined=compared.examined, reason=reason)
    status = Status.FAIL if lost else Status.PASS
    return Outcome(rule=compared.rule, status=status, examined=compared.examined)


def told(compared: Compared, allowed: Sequence[str]) -> tuple[Finding, ...]:
    """The findings; those that are allowed are only noted."""
    if compared.rule not in allowed:
        return compared.findings
    return tuple(replace(finding, severity=Severity.NOTE) for finding in compared.findings)
