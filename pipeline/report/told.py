"""What every report for people and for other programs tells of an audit, be it of bytes or of JIT sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.finding import Severity
from pipeline.report.shown import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.audit.kernels import KernelReport
    from pipeline.audit.report import AuditedArtifact, AuditReport
    from pipeline.errors import ExitStatus
    from pipeline.jit import JitReport
    from pipeline.model.finding import Finding, Outcome, Verdict
    from pipeline.model.lane import Lane

_GRAVEST_FIRST = tuple(Severity)


@dataclass(frozen=True, slots=True)
class ToldTarget:
    """The answer for one target and why, in one line; ``causes`` are the rules that decided."""

    label: str
    gpu: str | None
    verdict: Verdict
    why: str
    causes: tuple[str, ...]
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """An audit: ``findings`` are ordered, the gravest first; ``lane`` is the declared side where one was named.

    ``kernels`` is their table, ``None`` where they were not read.
    """

    name: str
    artifacts: tuple[AuditedArtifact, ...]
    examined: str
    verdict: Verdict
    status: ExitStatus
    targets: tuple[ToldTarget, ...]
    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    lane: Lane | None
    kernels: KernelReport | None


@dataclass(frozen=True, slots=True)
class RuleFindings:
    """Findings of one rule and severity, the largest first; ``count`` is how many entries they stand for."""

    rule: str
    severity: Severity
    findings: tuple[Finding, ...]

    @property
    def count(self) -> int:
        """Entries and members behind all of them."""
        return sum(finding.count for finding in self.findings)


def told_audit(report: AuditReport, lane: Lane | None = None) -> Told:
    """An audit of bytes."""
    from pipeline.report.audit_text import why_of

    seen = report.examined
    return Told(
        name=", ".join(item.path.rpartition("/")[2] for item in report.artifacts),
        artifacts=report.artifacts,
        examined=", ".join(
            (
                counted(seen.members, "file"),
                f"{seen.elf} ELF",
                counted(seen.fatbins, "fatbin"),
                counted(seen.cubins, "cubin"),
                f"{seen.ptx} PTX",
            )
        ),
        verdict=report.verdict,
        status=report.status,
        targets=tuple(
            ToldTarget(row.target.label, row.target.gpu, row.verdict, why_of(row), row.causes, row.errors)
            for row in report.targets
        ),
        outcomes=report.outcomes,
        findings=_ranked(report.findings),
        notes=report.notes,
        lane=lane,
        kernels=report.kernels,
    )


def told_jit(report: JitReport, lane: Lane) -> Told:
    """A compilation of what a product compiles on its users' machines."""
    return Told(
        name=report.lane,
        artifacts=(),
        examined=f"{len(report.compilations)} compilations of JIT sources",
        verdict=report.verdict,
        status=report.status,
        targets=tuple(
            ToldTarget(
                row.target.label,
                row.target.gpu,
                row.verdict,
                "; ".join([*row.causes, f"{row.compilations} compilations in {row.seconds:.1f} s"]),
                row.causes,
                row.errors,
            )
            for row in report.targets
        ),
        outcomes=report.outcomes,
        findings=_ranked(report.findings),
        notes=(),
        lane=lane,
        kernels=None,
    )


def by_rule(findings: Iterable[Finding]) -> tuple[RuleFindings, ...]:
    """One group for each severity and rule, the gravest and then the largest first."""
    groups: dict[tuple[Severity, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.severity, finding.rule), []).append(finding)
    made = [
        RuleFindings(rule, severity, tuple(sorted(found, key=lambda finding: -finding.count)))
        for (severity, rule), found in groups.items()
    ]
    return tuple(sorted(made, key=lambda group: (_GRAVEST_FIRST.index(group.severity), -group.count)))


def _ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: _GRAVEST_FIRST.index(finding.severity)))
