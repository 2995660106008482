"""GitHub shows ten annotations of a type: they are aggregated, and no text ends a command or starts one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from pipeline.gate import judge
from pipeline.model.finding import Severity
from pipeline.model.lane import Position
from pipeline.report.annotations import MOST, Annotation, audit_annotations, command, gate_annotations
from pipeline.report.places import Place
from tests.report.conftest import HOSTILE, finding, hostile, many, told
from tests.values import TERMS, cuda_lane

if TYPE_CHECKING:
    from pathlib import Path

ROOT = PurePath("/builds/7")
LANE = cuda_lane(position=Position("matrix.yaml", 12, 7))


def test_a_finding_is_told_at_the_lane_with_its_count_in_the_title() -> None:
    first, second = audit_annotations(told(lane=LANE), ROOT).splitlines()
    assert first == (
        "::error file=matrix.yaml,line=12,col=7,title=fatbin-codec x143 in cuda12.8-sm80::"
        "Zstandard-compressed cubin for sm_80 needs driver >= 550.54.14%0Adeclared: driver >= 535.288.01%0A"
        "fix: build with --compress-mode=speed%0Aat: /builds/7/bundle.tar.gz!/lib/libggml-cuda.so!/.nv_fatbin!/17"
    )
    assert second.startswith("::warning file=matrix.yaml,line=12,col=7,title=toolkit-mismatch in cuda12.8-sm80::")


def test_without_a_lane_there_is_no_file_to_point_at() -> None:
    assert audit_annotations(told(), ROOT).startswith("::error title=fatbin-codec x143 in bundle.tar.gz::")


def test_signs_of_a_command_are_escaped() -> None:
    told_of = Annotation(Severity.NOTE, "a:b,c%d", "50%: a,b\r\nnext", Place("x,y:z.yaml", 1))
    assert command(told_of) == ("::notice file=x%2Cy%3Az.yaml,line=1,col=1,title=a%3Ab%2Cc%25d::50%25: a,b\\r%0Anext")


def test_foreign_text_starts_no_command() -> None:
    lines = audit_annotations(hostile(), ROOT).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error"]
    assert "%0A@all" not in lines[0]
    assert HOSTILE.isprintable() is False
    assert lines[0].isprintable()


def test_findings_of_a_rule_are_one_annotation() -> None:
    lines = audit_annotations(many(100_000), ROOT).splitlines()
    assert len(lines) == 5
    assert "x20000 in bundle.tar.gz" in lines[0]
    assert lines[0].endswith(" and 19999 more")


def test_no_type_has_more_than_github_shows() -> None:
    findings = [finding(rule=f"rule-{index}", severity=severity) for index in range(15) for severity in Severity]
    lines = audit_annotations(told(findings=tuple(findings)), ROOT).splitlines()
    for word in ("error", "warning", "notice"):
        assert sum(line.startswith(f"::{word} ") for line in lines) == MOST
    assert lines[9].startswith("::error title=6 more errors::rule-9 x143 in bundle.tar.gz%0Arule-10")


def test_refused_lanes_are_told_at_their_lines(tmp_path: Path) -> None:
    lanes = [replace(LANE, id=f"lane-{index}", position=Position("matrix.yaml", index, 1)) for index in range(1, 13)]
    verdicts = [judge(lane, None, [], terms=TERMS, why_no_artifact="not built: on demand") for lane in lanes]
    lines = gate_annotations(verdicts, ROOT).splitlines()
    assert len(lines) == MOST
    assert lines[0] == (
        "::error file=matrix.yaml,line=1,col=1,title=lane-1 is refused::"
        "audit, smoke@80@535.288.01 missing: not built: on demand"
    )
    assert lines[-1].startswith("::error title=3 more errors::lane-10 is refused%0A")
