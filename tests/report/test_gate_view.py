"""What pages say of a lane, out of records that others wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipeline.gate import judge
from pipeline.model.finding import Status
from pipeline.report.gate_view import lane_view, why
from pipeline.report.times_view import taken
from tests.values import TERMS, bundle, cpu_lane, record

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.report.gate_view import LaneView

LANE = cpu_lane(required=("audit", "diff"))


def viewed(tmp_path: Path, check: str, document: dict[str, Any], status: Status = Status.PASS) -> LaneView:
    artifact = bundle(tmp_path, LANE)
    return lane_view(
        judge(LANE, artifact, [record(LANE, artifact, check, document=document, status=status)], terms=TERMS)
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (100 << 20, 112 << 20, "100.0 MiB → 112.0 MiB, grew by 12.0%"),
        (100 << 20, 88 << 20, "100.0 MiB → 88.0 MiB, shrank by 12.0%"),
        (100 << 20, 100 << 20, "100.0 MiB → 100.0 MiB, unchanged"),
    ],
)
def test_a_comparison_tells_what_grew(tmp_path: Path, old: int, new: int, told: str) -> None:
    view = viewed(tmp_path, "diff", {"old": {"size": old}, "new": {"size": new}})
    assert ("last release", told) in view.facts


@pytest.mark.parametrize(
    "document",
    [{}, {"old": None, "new": 3}, {"old": {"size": "9"}, "new": {}}, {"old": {"size": 0}, "new": {"size": 4}}],
)
def test_a_comparison_without_sizes_tells_nothing(tmp_path: Path, document: dict[str, Any]) -> None:
    assert "last release" not in dict(viewed(tmp_path, "diff", document).facts)


@pytest.mark.parametrize("findings", [None, "x", [1], [{"severity": "error", "count": "many"}], [{"severity": 3}]])
def test_a_record_of_another_shape_breaks_nothing(tmp_path: Path, findings: Any) -> None:
    view = viewed(tmp_path, "audit", {"findings": findings}, Status.FAIL)
    assert all(finding.count == 1 for finding in view.findings)


def test_the_same_finding_of_several_checks_is_told_once(tmp_path: Path) -> None:
    row = {"severity": "error", "rule": "ptx-isa", "observed": "PTX 8.7", "remedy": "build", "path": "a!/b", "count": 2}
    artifact = bundle(tmp_path, LANE)
    records = [
        record(LANE, artifact, check, document={"findings": [row]}, status=Status.FAIL) for check in LANE.required
    ]
    (finding,) = lane_view(judge(LANE, artifact, records, terms=TERMS)).findings
    assert (finding.check, finding.count) == ("audit", 2)


def test_what_refuses_is_told_once_with_how_many(tmp_path: Path) -> None:
    lane = cpu_lane(required=("audit", "smoke@cpu", "diff"))
    assert why(judge(lane, None, [], terms=TERMS)) == "audit and 2 more checks missing: not built"
    assert why(judge(cpu_lane(required=()), bundle(tmp_path, lane), [], terms=TERMS)) == "no check is required"


def test_times_that_are_none_take_no_time(tmp_path: Path) -> None:
    good = record(LANE, bundle(tmp_path, LANE), "audit")
    assert taken(good) == 1.0
    assert taken(record(LANE, bundle(tmp_path, LANE), "audit", started="soon")) == 0.0
    assert taken(record(LANE, bundle(tmp_path, LANE), "audit", started="2026-01-01T00:00:00")) == 0.0
    assert taken(None) == 0.0
