"""Shows the gate what it must refuse: each case spoils one thing about a release that it approves.

Only the judging is exercised, and what is read from disk: nothing is built, and no evidence of yours is touched.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.evidence import append, iso, read, scope_of
from pipeline.gate.judging import judge, refuse
from pipeline.gate.terms import Terms
from pipeline.model.artifact import Artifact
from pipeline.model.evidence import Evidence, Machine, Origin
from pipeline.model.finding import Outcome, Status
from pipeline.model.lane import (
    BundleSpec,
    EvidenceTerms,
    Flavour,
    Lane,
    Platform,
    Position,
    PrebuiltFile,
    SmokeSettings,
    Target,
    Waiver,
)
from pipeline.model.versions import DriverVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from pipeline.gate.verdict import LaneVerdict
    from pipeline.policy import Policy

_CPU = Machine(platform="x86_64", kernel="6.1", glibc="2.36", device="cpu", engine="process")
_GPU = replace(_CPU, device="cuda", gpu="A30", sm=80, driver="535.288.01")
_TARGET = Target(80, DriverVersion("535.288.01"))
_CHECKS = ("audit", *_TARGET.checks)
_BUNDLE = Artifact("self-test", Path("bundle.tar.gz"), hashlib.sha256(b"bundle").hexdigest(), 6, "")
_LANE = Lane(
    id=_BUNDLE.lane_id,
    bundle=BundleSpec("server", "1"),
    flavour=Flavour.CUDA,
    platform=Platform.X86_64,
    source=PrebuiltFile(Path("bundle.tar.gz"), "0" * 64),
    recipe=None,
    toolkit=None,
    toolkit_origin=None,
    archs=(),
    compression=None,
    base_image=None,
    driver_floor=None,
    host_glibc=None,
    host_libraries=(),
    targets=(_TARGET,),
    smoke=SmokeSettings(command=("server",)),
    required=_CHECKS,
    waivers=(),
    on_demand=False,
    combination={},
    position=Position("self-test", 1, 1),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is wrong, what the gate said to it, and whether that is right."""

    name: str
    approved: bool
    expected: bool
    reason: str

    @property
    def right(self) -> bool:
        """Whether the gate answered as it must."""
        return self.approved is self.expected

    def to_json(self) -> dict[str, Any]:
        """The case's row of the document."""
        return {"case": self.name, "approved": self.approved, "right": self.right, "reason": self.reason or None}


def run_self_test(folder: Path, policy: Policy, tables: str, *, now: datetime) -> tuple[Case, ...]:
    """Judge every case; records are written below ``folder``, which must be empty."""
    return tuple(_Bench(folder, policy, tables, now).cases())


@dataclass(frozen=True, slots=True)
class _Bench:
    folder: Path
    policy: Policy
    tables: str
    now: datetime

    def cases(self) -> Iterator[Case]:
        yield self._case("complete evidence", self._good(), expected=True)
        yield from self._incomplete()
        yield from self._misplaced()
        yield from self._untrusted()
        yield from self._waived()
        yield from self._spoiled_on_disk()

    def _incomplete(self) -> Iterator[Case]:
        yield self._case("no evidence", [])
        for check in _CHECKS:
            others = [record for record in self._good() if record.check != check]
            yield self._case(f"no {check}", others)
            for status in Status:
                if status is not Status.PASS:
                    yield self._case(f"{check} {status}", [*others, self._record(check, status=status)])
        later = self._record("audit", status=Status.FAIL, finished=iso(self.now))
        yield self._case("a failure after a pass", [*self._good(), later])
        yield self._case("a lane that requires nothing", self._good(), lane=replace(_LANE, required=()))
        yield self._case("no bundle", self._good(), artifact=None)

    def _misplaced(self) -> Iterator[Case]:
        yield self._case("a rehearsal in place of a GPU", [self._record("audit"), self._record(_TARGET.rehearsal)])
        other = replace(_BUNDLE, sha256="0" * 64)
        yield self._case("one byte of the bundle changed", self._good(), artifact=other)
        promised_less = replace(_LANE, targets=(), required=_CHECKS)
        for_less = [replace(record, scope=scope_of(promised_less, record.check)) for record in self._good()]
        yield self._case("evidence for another promise", for_less)
        for name, machine in (
            ("a GPU check on the CPU", _CPU),
            ("a newer driver branch", replace(_GPU, driver="580.65.06")),
            ("another SM", replace(_GPU, sm=86)),
            ("another instruction set", replace(_GPU, platform="aarch64")),
        ):
            moved = [replace(record, machine=machine) for record in self._good() if "@" in record.check]
            yield self._case(name, [self._record("audit"), *moved])

    def _untrusted(self) -> Iterator[Case]:
        signed = [replace(record, signed_by=("key",)) for record in self._good()]
        wanted = EvidenceTerms(signed=True)
        yield self._case("signed evidence where it is required", signed, wanted=wanted, expected=True)
        yield self._case("unsigned evidence where a signature is required", self._good(), wanted=wanted)
        strangers = [replace(record, strangers=("a workflow of others",)) for record in self._good()]
        yield self._case("evidence signed by a stranger", strangers, wanted=wanted)
        old = [replace(record, finished=iso(self.now - timedelta(days=9))) for record in self._good()]
        yield self._case("expired evidence", old, wanted=EvidenceTerms(max_age_days=8))
        elsewhere = [replace(record, origin=replace(record.origin, commit="1" * 40)) for record in self._good()]
        yield self._case("evidence from another commit", elsewhere, wanted=EvidenceTerms(same_commit=True))
        tables = [replace(record, origin=replace(record.origin, policy="0" * 64)) for record in self._good()]
        yield self._case("an audit under other policy tables", tables)

    def _waived(self) -> Iterator[Case]:
        without = [record for record in self._good() if record.check != "audit"]
        today = self.now.date()
        for name, expires, expected in (
            ("a waiver on its last day", today, True),
            ("an expired waiver", today - timedelta(days=1), False),
        ):
            waiver = Waiver("audit", "self-test", "nobody", expires.isoformat())
            yield self._case(name, without, lane=replace(_LANE, waivers=(waiver,)), expected=expected)

    def _spoiled_on_disk(self) -> Iterator[Case]:
        yield self._on_disk("untouched files", lambda _: None, expected=True)
        yield self._on_disk("a truncated record", lambda path: path.write_bytes(path.read_bytes()[:-40]))
        yield self._on_disk("an edited record", _edited)
        yield self._on_disk("a record under another check", _moved)
        yield self._on_disk("a check that nobody knows", lambda path: _rewritten(path, {"check": "wishes"}))
        future = iso(self.now + timedelta(days=1))
        yield self._on_disk("a record from the future", lambda path: _rewritten(path, {"finished": future}))

    def _case(
        self,
        name: str,
        evidence: list[Evidence],
        *,
        lane: Lane = _LANE,
        artifact: Artifact | None = _BUNDLE,
        wanted: EvidenceTerms | None = None,
        expected: bool = False,
    ) -> Case:
        terms = Terms(now=self.now, policy=self.policy, tables=self.tables, wanted=wanted or EvidenceTerms())
        return _told(name, judge(lane, artifact, evidence, terms=terms), expected=expected)

    def _on_disk(self, name: str, spoil: Callable[[Path], object], *, expected: bool = False) -> Case:
        folder = self.folder / name
        paths = [append(folder, record) for record in self._good()]
        spoil(paths[0])
        terms = Terms(now=self.now, policy=self.policy, tables=self.tables, wanted=EvidenceTerms())
        try:
            evidence = read([folder], _BUNDLE.sha256, now=self.now)
            verdict = judge(_LANE, _BUNDLE, evidence, terms=terms)
        except (CorruptInput, InfrastructureError) as error:
            verdict = refuse(_LANE, error, self.policy)
        return _told(name, verdict, expected=expected)

    def _good(self) -> list[Evidence]:
        return [self._record(check) for check in _CHECKS]

    def _record(self, check: str, *, status: Status = Status.PASS, finished: str | None = None) -> Evidence:
        row = {"sm": str(_TARGET.sm), "driver": str(_TARGET.driver), "verdict": "pass"}
        return Evidence(
            subject=_BUNDLE.sha256,
            lane=_LANE.id,
            check=check,
            scope=scope_of(_LANE, check),
            outcome=Outcome(rule=check, status=status, examined=1, reason=None if status is Status.PASS else "spoiled"),
            machine=_CPU if check == "audit" else _GPU,
            started=iso(self.now - timedelta(minutes=2)),
            finished=finished or iso(self.now - timedelta(minutes=1)),
            document={"targets": [row], "outcomes": []} if check == "audit" else {},
            origin=Origin(tool=__version__, policy=self.tables),
        )


def _told(name: str, verdict: LaneVerdict, *, expected: bool) -> Case:
    reason = next((check.reason for check in verdict.checks if not check.standing.approves), "")
    return Case(name, verdict.approved, expected, reason)


def _edited(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"examined": 1', b'"examined": 2'))


def _moved(path: Path) -> None:
    other = path.parent.with_name("smoke@cpu")
    other.mkdir()
    path.rename(other / path.name)


def _rewritten(path: Path, change: dict[str, str]) -> None:
    """Change a record and its name with it, as somebody would who knows how names are made."""
    content = json.loads(path.read_bytes())
    content["predicate"].update(change)
    text = json.dumps(content).encode()
    path.unlink()
    path.with_name(f"x-{hashlib.sha256(text).hexdigest()[:16]}.json").write_bytes(text)
