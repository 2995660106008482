"""Everything bad that may lie among evidence, from disk to verdict: refused by name, each beside a healthy twin."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.evidence import append, iso, read
from pipeline.gate import LaneVerdict, judge
from pipeline.model.finding import Status
from pipeline.model.lane import Waiver
from pipeline.report.gate_text import explanation, summary
from pipeline.report.written import written_gate
from tests.evidence.spoil import rewritten
from tests.values import CPU, TERMS, bundle, cpu_lane, record

if TYPE_CHECKING:
    from pipeline.model.artifact import Artifact
    from pipeline.model.evidence import Evidence
    from pipeline.model.lane import Lane

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HOSTILE = "\x1b[31m</script><b>x</b>\r\n::error::no\x00\u202e"
_MIB = 1 << 20


class Place:
    """One lane that asks for an audit, its bundle, and a folder of evidence."""

    def __init__(self, folder: Path) -> None:
        self.lane: Lane = cpu_lane(required=("audit",))
        self.artifact: Artifact = bundle(folder, self.lane)
        self.folders = [folder / "one", folder / "two"]

    def put(self, where: int = 0, **changes: Any) -> Path:
        return append(self.folders[where], self.record(**changes))

    def record(self, **changes: Any) -> Evidence:
        return record(self.lane, self.artifact, "audit", **changes)

    def judged(self, **changes: Any) -> LaneVerdict:
        found = read(self.folders, self.artifact.sha256, now=NOW)
        return judge(replace(self.lane, **changes), self.artifact, found, terms=TERMS)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_record_that_is_there_twice_counts_once(place: Place) -> None:
    path = place.put()
    copy = place.folders[1] / place.artifact.sha256 / "audit"
    copy.mkdir(parents=True)
    shutil.copy(path, copy)
    assert place.judged().approved
    shutil.copy(place.put(status=Status.FAIL, finished="2026-01-01T00:00:03Z"), copy)
    assert not place.judged().approved, "nor do two copies of a no leave a yes"


def test_machines_that_contradict_each_other_are_decided_by_time_and_else_by_the_no(place: Place) -> None:
    place.put(0, status=Status.FAIL)
    place.put(1, finished="2026-01-01T00:00:02Z")
    assert place.judged().approved, "looked at again, and passed"
    place.put(0, status=Status.FAIL, finished="2026-01-01T00:00:02Z")
    refused = place.judged()
    assert not refused.approved
    assert refused.checks[0].reason == "because fail"


def test_evidence_of_another_bundle_is_none(place: Place, tmp_path: Path) -> None:
    place.put()
    changed = bundle(tmp_path, place.lane, b"bytez")
    found = read(place.folders, changed.sha256, now=NOW)
    verdict = judge(place.lane, changed, found, terms=TERMS)
    assert (verdict.approved, verdict.checks[0].reason) == (False, "no evidence")
    stolen = place.folders[0] / changed.sha256
    shutil.copytree(place.folders[0] / place.artifact.sha256, stolen)
    with pytest.raises(CorruptInput, match="not about"):
        read(place.folders, changed.sha256, now=NOW)


def test_a_clock_that_jumps_back_between_checks_leaves_the_newest_the_newest(place: Place) -> None:
    for day in (1, 0, 1, 0):
        place.put(finished=iso(NOW - timedelta(days=2 - day)))
    place.put(status=Status.FAIL, finished=iso(NOW - timedelta(days=300)))
    assert not place.judged().approved
    place.put(finished=iso(NOW - timedelta(days=200)))
    assert place.judged().approved


def test_a_clock_that_jumps_forward_is_named_until_it_is_true(place: Place) -> None:
    place.put(finished=iso(NOW + timedelta(days=400)))
    place.put(status=Status.FAIL, finished=iso(NOW))
    with pytest.raises(InfrastructureError, match=r"audit for [0-9a-f]{12} was finished at 2027-\S+, in the future"):
        place.judged()


def test_a_clock_that_jumps_during_a_check_is_named(place: Place) -> None:
    place.put(started="2026-01-01T00:04:00Z", finished="2026-01-01T00:00:00Z")
    assert place.judged().approved, "clocks are set by seconds all the time"
    place.put(started="2026-01-01T00:06:00Z", finished="2026-01-01T00:00:02Z")
    with pytest.raises(InfrastructureError, match="the clock jumped"):
        place.judged()


@pytest.mark.parametrize("cut", [0, 1, 200, -2, -40])
def test_truncated_json_is_named_whether_its_name_fits_or_not(place: Place, cut: int) -> None:
    path = place.put()
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    with pytest.raises(CorruptInput, match="was edited"):
        place.judged()
    path.write_bytes(whole)
    assert place.judged().approved


def findings(size: int, severity: str, **last: Any) -> dict[str, Any]:
    """An audit's document with findings of that many bytes, each of its own path; the last one may differ."""
    row = {
        "rule": "needed-library",
        "severity": severity,
        "observed": "libfoo.so.1 is nowhere",
        "declared": "",
        "remedy": "ship it",
    }
    each = len(json.dumps({**row, "path": "bundle.tar.gz!/lib/0000000.so"})) + 2
    rows: list[dict[str, Any]] = [{**row, "path": f"bundle.tar.gz!/lib/{n:07}.so"} for n in range(size // each)]
    return {"findings": [*rows, {**row, "path": "bundle.tar.gz!/lib/last.so", **last}]}


def test_ten_megabytes_of_warnings_are_read_and_approved_within_time(place: Place) -> None:
    path = place.put(document=findings(10 * _MIB, "warning"))
    assert path.stat().st_size > 10 * _MIB
    begun = time.perf_counter()
    assert place.judged().approved
    assert time.perf_counter() - begun < 3


@pytest.mark.parametrize("form", ["text", "markdown", "html", "junit", "annotations"])
def test_ten_megabytes_of_errors_are_refused_and_told_with_their_count(place: Place, form: str) -> None:
    document = findings(10 * _MIB, "error")
    place.put(status=Status.FAIL, document=document)
    begun = time.perf_counter()
    verdict = place.judged()
    if form == "text":
        told = summary([verdict], color=False) + explanation(verdict, color=False)
    else:
        told = written_gate(form, [verdict], Path.cwd())
    assert time.perf_counter() - begun < 6
    assert not verdict.approved
    assert len(told) < _MIB
    if form in {"markdown", "html"}:
        assert f"{len(document['findings']) - 20} more" in told


def waiver(**changes: Any) -> Waiver:
    return Waiver("audit", "known", "ops@example.org", "2026-12-31", rule="needed-library", **changes)


def test_of_ten_megabytes_the_one_that_no_waiver_covers_refuses(place: Place) -> None:
    place.put(status=Status.FAIL, document=findings(10 * _MIB, "error", rule="glibc-floor"))
    begun = time.perf_counter()
    refused = place.judged(waivers=(waiver(),))
    assert "no waiver covers glibc-floor at bundle.tar.gz!/lib/last.so" in refused.checks[0].reason
    healthy = place.judged(waivers=(waiver(path="lib/*.so"), replace(waiver(), rule="glibc-floor")))
    assert healthy.approved
    assert time.perf_counter() - begun < 6


def test_a_reason_of_megabytes_is_cut_and_counted(place: Place) -> None:
    long = place.record(status=Status.FAIL)
    place.put(outcome=replace(long.outcome, reason="x" * _MIB))
    told = explanation(place.judged(), color=False)
    assert f"({_MIB - 4000} more characters)" in told
    assert len(told) < 6000


def test_nothing_hostile_in_a_record_reaches_the_terminal(place: Place) -> None:
    spoiled = place.record(status=Status.FAIL, document={"findings": [{"severity": "error", "rule": HOSTILE}]})
    place.put(outcome=replace(spoiled.outcome, reason=f"first\n{HOSTILE}"), document=spoiled.document)
    told = explanation(place.judged(waivers=(waiver(), replace(waiver(), rule="x"))), color=False)
    assert "\\x1b[31m" in told
    assert all(letter.isprintable() or letter == "\n" for letter in told)


@pytest.mark.parametrize(
    "machine",
    [
        {"gpu": HOSTILE},
        {"gpu": ["A30"]},
        {"gpu": "x" * 501},
        {"sm": "80"},
        {"sm": True},
        {"platform": None},
        {"driver": 535},
        {"wishes": "x"},
    ],
)
def test_a_machine_that_is_none_is_corrupt(place: Place, machine: dict[str, Any]) -> None:
    rewritten(place.put(), lambda content: content["predicate"]["machine"].update(machine))
    with pytest.raises(CorruptInput, match="damaged or incomplete"):
        place.judged()


@pytest.mark.parametrize(
    ("part", "value"),
    [("origin", {"tool": "0", "policy": 1}), ("origin", {"tool": HOSTILE, "policy": "x"}), ("started", "now")]
    + [(name, "2026-01-01\x1b00:00:00Z") for name in ("started", "finished")],
)
def test_what_is_no_origin_or_time_is_corrupt(place: Place, part: str, value: object) -> None:
    rewritten(place.put(), lambda content: content["predicate"].update({part: value}))
    with pytest.raises(CorruptInput, match="damaged or incomplete"):
        place.judged()


def test_machines_read_back_as_they_were_written(place: Place) -> None:
    for machine in (
        CPU,
        replace(CPU, device="cuda", gpu="A30 (№ 1)", sm=80, driver="535.288.01", stand_in="ein Ersatz"),
    ):
        place.put(machine=machine)
        assert read(place.folders, place.artifact.sha256, now=NOW)[-1].machine == machine
