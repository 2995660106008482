"""Which distribution fails: claims, floors and coverage of an audit, told for each distribution and library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.audit.floors import minimum_driver
from pipeline.audit.report import DistributionReport, DistributionVerdict, Floor, LibraryReport
from pipeline.model.finding import Verdict
from pipeline.model.versions import DriverVersion
from pipeline.policy.unknown import OutsidePolicy
from pipeline.rules.choice import Via
from pipeline.rules.registry import RULES
from pipeline.rules.subject import Effect
from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pipeline.model.paths import MemberPath
    from pipeline.rules.provenance import Provenance
    from pipeline.rules.subject import Aim, Claim, Load, Subject
    from pipeline.rules.unit import Unit

_ORDER = {rule.id: place for place, rule in enumerate(RULES)}
_RUNTIME = "toolkit-major"
_MARK = "!/"
NATIVE, JIT, BY_DESIGN, PARTLY, FAILS, UNKNOWN = "native", "jit", "by-design", "partly", "fails", "unknown"
"""How a library's containers fare on a target: ``partly`` where some load and others do not."""


@dataclass(frozen=True, slots=True)
class _Owners:
    """Finds the distribution that a claim's path belongs to."""

    by_member: dict[str, int]

    @classmethod
    def of(cls, subject: Subject) -> _Owners:
        owners = {item.path: place for place, item in enumerate(subject.distributions)}
        owners |= {member: place for place, item in enumerate(subject.distributions) for member in item.members}
        return cls(owners)

    def of_path(self, path: str) -> int:
        """Its place in the subject's list; -1 for nobody's."""
        parts = path.split(_MARK)
        ends = range(len(parts), 0, -1)
        return next((self.by_member[key] for end in ends if (key := _MARK.join(parts[:end])) in self.by_member), -1)


def distribution_reports(subject: Subject, claims: Sequence[Claim]) -> tuple[DistributionReport, ...]:
    """One for each distribution, the worst first."""
    if not subject.distributions:
        return ()
    owners = _Owners.of(subject)
    said: list[list[Claim]] = [[] for _ in subject.distributions]
    for claim in claims:
        if claim.targets and (place := owners.of_path(claim.path)) >= 0:
            said[place].append(claim)
    from pipeline.rules.provenance import provenances  # most artifacts are no distributions

    libraries = library_reports(subject)
    reports = [_report(item, said[place], libraries, subject) for place, item in enumerate(provenances(subject))]
    return tuple(sorted(reports, key=_badness))


def _badness(report: DistributionReport) -> tuple[int, int, str, str]:
    verdicts = [row.verdict for row in report.verdicts]
    failing, doubtful = verdicts.count(Verdict.FAIL), verdicts.count(Verdict.UNKNOWN)
    return (-failing, -doubtful, report.distribution.name, report.distribution.path)


def _report(
    item: Provenance, claims: list[Claim], libraries: dict[MemberPath, LibraryReport], subject: Subject
) -> DistributionReport:
    mine = tuple(dict.fromkeys(unit.library for unit in item.units))
    judged = bool(item.elves or item.units or item.distribution.unread or claims)
    pinned = (
        other.label
        for other in subject.distributions
        for asked in other.requires
        if asked.name == item.distribution.name and asked.pin
    )
    return DistributionReport(
        distribution=item.distribution,
        majors=tuple(sorted(item.majors)),
        toolkits=item.toolkits,
        floors={sm: floor for aim in subject.aims if (floor := _floor(sm := aim.target.sm, item, subject)) is not None},
        verdicts=tuple(_verdict(aim, item, claims) for aim in subject.aims) if judged else (),
        libraries=tuple(libraries[library] for library in mine),
        pinned_by=tuple(dict.fromkeys(pinned)),
    )


def _verdict(aim: Aim, item: Provenance, claims: Iterable[Claim]) -> DistributionVerdict:
    mine = [claim for claim in claims if aim.label in claim.targets]
    failing = [claim for claim in mine if claim.effect is Effect.FAIL]
    doubts = [claim for claim in mine if claim.effect is Effect.DOUBT]
    causes = sorted({claim.rule for claim in failing or doubts}, key=_ORDER.__getitem__)
    if aim.unserved is not None and item.units:
        return DistributionVerdict(aim.label, Verdict.FAIL, (aim.unserved.rule, *causes))
    if aim.doubt and not failing:
        return DistributionVerdict(aim.label, Verdict.UNKNOWN, ("outside-policy", *causes))
    verdict = Verdict.FAIL if failing else Verdict.UNKNOWN if doubts else Verdict.PASS
    return DistributionVerdict(aim.label, verdict, tuple(causes))


def _floor(sm: int, item: Provenance, subject: Subject) -> Floor | None:
    """What its device code and the CUDA libraries that it carries or links ask of the driver; ``None``: nothing."""
    runtime = _runtime_floor(item, subject)
    if not item.units:
        return Floor(str(runtime), _RUNTIME) if runtime is not None else None
    device = minimum_driver(sm, item.units, subject.declaration, subject.policy)
    if runtime is None or not device.driver or DriverVersion.parse(device.driver) >= runtime:
        return device
    return Floor(str(runtime), _RUNTIME)


def _runtime_floor(item: Provenance, subject: Subject) -> DriverVersion | None:
    """Of several majors the lowest: a distribution with several picks the one that runs."""
    rows = subject.policy.cuda_sonames
    names = {name for elf in item.elves for name in (*elf.needed, elf.soname or "")}
    majors = [rows[name].major for name in names if name in rows and rows[name].needs_driver]
    try:
        return subject.policy.cubin_floor(min(majors)) if majors else None
    except OutsidePolicy:
        return None


def library_reports(subject: Subject) -> dict[MemberPath, LibraryReport]:
    """Every library with device code: the architectures it has, and how it fares on each target."""
    units: dict[MemberPath, list[Unit]] = {}
    for unit in subject.units:
        units.setdefault(unit.library, []).append(unit)
    fares: dict[MemberPath, dict[str, str]] = {library: {} for library in units}
    for aim in subject.aims:
        loads: dict[MemberPath, list[Load]] = {}
        for load in aim.loads:
            loads.setdefault(load.unit.library, []).append(load)
        for library in units:
            fares[library][aim.label] = _fares(loads.get(library, []), aim)
    return {
        library: LibraryReport(str(library), tuple(_archs(mine)), sum(unit.count for unit in mine), fares[library])
        for library, mine in units.items()
    }


def _archs(units: Iterable[Unit]) -> Iterator[str]:
    archs = {str(image.arch): image.arch for unit in units for image in flat(unit.images) if image.arch is not None}
    yield from sorted(archs, key=lambda name: (archs[name].kind.value != "real", archs[name].number, name))


def _fares(loads: Sequence[Load], aim: Aim) -> str:
    if aim.unserved is not None:
        return FAILS
    if not loads:
        return UNKNOWN
    asked = [load for load in loads if not load.excused]
    if not asked:
        return BY_DESIGN
    lost = [load for load in asked if not load.selection.loads]
    if lost and all(load.selection.doubtful for load in lost):
        return UNKNOWN
    if lost:
        return FAILS if len(lost) == len(asked) else PARTLY
    return JIT if any(load.selection.via is Via.JIT for load in asked) else NATIVE
