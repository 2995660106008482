"""What an audit concluded, as values: writers print it, the gate keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.errors import ExitStatus
from pipeline.model.finding import Status, Verdict

if TYPE_CHECKING:
    from pipeline.audit.kernels import KernelReport
    from pipeline.model.distribution import Distribution
    from pipeline.model.finding import Finding, Outcome
    from pipeline.model.lane import Target
    from pipeline.model.served import Serves
    from pipeline.rules.assembly import Rehearsal


@dataclass(frozen=True, slots=True)
class AuditedArtifact:
    """One input: ``path`` as given, ``size`` in bytes."""

    path: str
    sha256: str
    size: int
    format: str


@dataclass(frozen=True, slots=True)
class Examined:
    """How much was looked at: files, host ELF files, containers that are judged, and their images by kind."""

    members: int
    elf: int
    fatbins: int
    cubins: int
    ptx: int


@dataclass(frozen=True, slots=True)
class FatbinCount:
    """How the driver serves the containers of a target; the last four add up to ``total``."""

    total: int = 0
    native: int = 0
    jit: int = 0
    by_design: int = 0
    unloadable: int = 0


@dataclass(frozen=True, slots=True)
class PassVerdict:
    """What one of the driver's JIT settings would answer."""

    verdict: Verdict
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Floor:
    """The lowest driver on which every container of an SM loads, and the rule that blocks the next lower one.

    ``driver`` is empty where ``reason`` is ``none`` (no driver can) or ``unknown`` (the tables do not say).
    """

    driver: str
    reason: str


@dataclass(frozen=True, slots=True)
class TargetReport:
    """The answer for one target: causes and errors decisive first."""

    target: Target
    verdict: Verdict
    errors: tuple[str, ...]
    causes: tuple[str, ...]
    fatbins: FatbinCount
    jit_forbidden: PassVerdict
    jit_forced: PassVerdict
    floor: Floor


@dataclass(frozen=True, slots=True)
class LibraryReport:
    """A library with device code: its architectures, how many containers, and how it fares on each target.

    ``fares`` has ``native``, ``jit``, ``by-design``, ``partly`` (some containers load, others do not), ``fails`` or
    ``unknown`` for each target's label.
    """

    path: str
    archs: tuple[str, ...]
    containers: int
    fares: dict[str, str]


@dataclass(frozen=True, slots=True)
class DistributionVerdict:
    """How a distribution fares on a target, and by which rules."""

    target: str
    verdict: Verdict
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DistributionReport:
    """A distribution: the CUDA majors it is of, the toolkits that made its device code, its floor for each SM.

    ``verdicts`` is empty where there is nothing in it to judge: neither ELF nor device code. ``pinned_by`` are the
    distributions that ask for exactly this version.
    """

    distribution: Distribution
    majors: tuple[int, ...]
    toolkits: tuple[str, ...]
    floors: dict[int, Floor]
    verdicts: tuple[DistributionVerdict, ...]
    libraries: tuple[LibraryReport, ...]
    pinned_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Everything an audit says. ``deep`` tells whether compressed payloads were looked into.

    ``kernels`` is their table where they were read, ``rehearsal`` what assemblers said where they were asked,
    ``serves`` every GPU of the tables where that was asked.
    ``asked`` is false when neither a target nor a declaration nor a host was named: then the audit only shows.
    """

    artifacts: tuple[AuditedArtifact, ...]
    examined: Examined
    targets: tuple[TargetReport, ...]
    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]
    deep: bool
    policy_date: str
    corrupt: bool = False
    asked: bool = True
    notes: tuple[str, ...] = field(default=())
    kernels: KernelReport | None = None
    distributions: tuple[DistributionReport, ...] = ()
    libraries: tuple[LibraryReport, ...] = ()
    rehearsal: Rehearsal | None = None
    serves: Serves | None = None

    @property
    def verdict(self) -> Verdict:
        """The worst of the targets and outcomes."""
        if any(outcome.status is Status.FAIL for outcome in self.outcomes):
            return Verdict.FAIL
        verdicts = [target.verdict for target in self.targets]
        if Verdict.FAIL in verdicts:
            return Verdict.FAIL
        doubtful = any(outcome.status is Status.ERROR for outcome in self.outcomes)
        return Verdict.UNKNOWN if doubtful or Verdict.UNKNOWN in verdicts else Verdict.PASS

    @property
    def status(self) -> ExitStatus:
        """The exit status that the contract gives this report."""
        if self.corrupt:
            return ExitStatus.CORRUPT_INPUT
        if not self.examined.elf and not self.examined.cubins and not self.examined.ptx and not self.examined.fatbins:
            return ExitStatus.NOTHING_EXAMINED
        refused = self.asked and self.verdict is not Verdict.PASS
        return ExitStatus.REFUSED if refused else ExitStatus.PASS
