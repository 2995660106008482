"""The summary says PASS only for approved lanes, and names what is missing for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.gate import judge
from pipeline.report.gate_text import explanation, summary
from tests.values import TERMS, bundle, cpu_lane, cuda_lane, record

if TYPE_CHECKING:
    from pathlib import Path


def test_the_summary_has_one_line_per_lane_and_counts(tmp_path: Path) -> None:
    cpu, cuda = cpu_lane(), cuda_lane()
    artifact = bundle(tmp_path, cpu)
    good = judge(cpu, artifact, [record(cpu, artifact, "audit"), record(cpu, artifact, "smoke@cpu")], terms=TERMS)
    bad = judge(cuda, None, [], terms=TERMS, why_no_artifact="not built: on demand")
    assert summary([good, bad], color=False).splitlines() == [
        "lane           verdict  why",
        "cpu            PASS     audit inferred, smoke@cpu proven",
        "cuda12.8-sm80  REFUSED  not built: on demand",
        "",
        "1 of 2 lanes approved",
    ]


def test_the_explanation_names_each_check_and_where_it_was_seen(tmp_path: Path) -> None:
    lane = cuda_lane()
    artifact = bundle(tmp_path, lane)
    verdict = judge(lane, artifact, [record(lane, artifact, "audit")], terms=TERMS)
    text = explanation(verdict, color=False)
    assert "inferred  audit  [CPU, process]" in text
    assert "missing   smoke@80@535.288.01: no evidence" in text


def test_color_is_only_added_where_it_is_wanted(tmp_path: Path) -> None:
    verdict = judge(cpu_lane(), None, [], terms=TERMS)
    assert "\x1b[" not in summary([verdict], color=False)
    assert "\x1b[31mREFUSED\x1b[0m" in summary([verdict], color=True)


def test_an_approved_lane_among_refused_ones_says_what_the_status_tells(tmp_path: Path) -> None:
    lane = cpu_lane(required=("audit",))
    artifact = bundle(tmp_path, lane)
    good = judge(lane, artifact, [record(lane, artifact, "audit")], terms=TERMS)
    said = "2 other lanes are refused, which the exit status tells too: --lane cpu judges this one alone"
    assert said in explanation(good, color=False, refused=2)
    assert "refused" not in explanation(good, color=False)
    assert said not in explanation(judge(lane, artifact, [], terms=TERMS), color=False, refused=2), "it is one itself"
