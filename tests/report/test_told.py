"""Audits of bytes and of JIT sources are told alike; texts are cut and counted."""

from __future__ import annotations

import json
from pathlib import PurePath

import pytest

from pipeline.commands.options import AUDIT_FORMATS, GATE_FORMATS
from pipeline.jit.report import JitReport, JitTarget
from pipeline.model.finding import Outcome, Severity, Status, Verdict
from pipeline.model.lane import Position
from pipeline.report.places import repository_path
from pipeline.report.sarif import sarif
from pipeline.report.shown import shown
from pipeline.report.told import by_rule, told_jit
from pipeline.report.written import written_audit, written_gate
from tests.report.conftest import finding, told
from tests.values import cuda_lane

ROOT = PurePath("/builds/7")


def test_jit_sources_are_told_as_bytes_are() -> None:
    lane = cuda_lane(position=Position("matrix.yaml", 12, 7))
    wrong = finding(rule="jit-feature", path="kernels/scan.cu:14", count=1)
    row = JitTarget(lane.targets[0], Verdict.FAIL, ("jit-feature",), ("CUDA_ERROR_INVALID_PTX",), 3, 1.25)
    outcome = Outcome(rule="jit-feature", status=Status.FAIL, examined=3)
    report = told_jit(JitReport(lane.id, (), (row,), (wrong,), (outcome,)), lane)
    assert report.targets[0].why == "jit-feature; 3 compilations in 1.2 s"
    for name in AUDIT_FORMATS[2:]:
        assert "jit-feature" in written_audit(name, report, ROOT)
    (result,) = json.loads(written_audit("sarif", report, ROOT))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 12
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "kernels/scan.cu:14"


def test_a_format_that_nobody_knows_is_none() -> None:
    for name in AUDIT_FORMATS[2:]:
        assert written_audit(name, told(), ROOT)
    for name in GATE_FORMATS[2:]:
        written_gate(name, [], ROOT)
    with pytest.raises(ValueError, match="no format of an audit"):
        written_audit("pdf", told(), ROOT)
    with pytest.raises(ValueError, match="no format of a gate"):
        written_gate("sarif", [], ROOT)


def test_groups_are_by_severity_and_rule_the_largest_first() -> None:
    found = [
        finding(rule="a", severity=Severity.NOTE),
        finding(rule="b", count=1),
        finding(rule="c", count=5),
        finding(rule="b", count=2),
    ]
    assert [(group.rule, group.count) for group in by_rule(found)] == [("c", 5), ("b", 3), ("a", 143)]


@pytest.mark.parametrize(
    ("file", "told_as"),
    [
        ("/builds/7/ci/matrix.yaml", "ci/matrix.yaml"),
        ("/elsewhere/matrix.yaml", "matrix.yaml"),
        ("../matrix.yaml", "matrix.yaml"),
        ("./ci/matrix.yaml", "ci/matrix.yaml"),
    ],
)
def test_files_are_told_from_the_top_of_the_repository(file: str, told_as: str) -> None:
    assert repository_path(file, ROOT) == told_as


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("docker://registry.example/image:tag", "docker://registry.example/image:tag"),
        ("out/a b%20c:d.tar.gz", "out/a%20b%2520c%3Ad.tar.gz"),
        ("out/\udcff.so", "out/%FF.so"),
        ("out/שלום", "out/%D7%A9%D7%9C%D7%95%D7%9D"),
    ],
)
def test_an_artifact_is_an_address_that_can_be_read_back(path: str, uri: str) -> None:
    base = told()
    item = base.artifacts[0].__class__(path, "", 1, "elf")
    log = json.loads(sarif(told(artifacts=(item,), findings=(finding(path=f"{shown(path)}!/x"),)), ROOT))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == uri


def test_a_text_is_cut_with_the_count() -> None:
    assert shown("x" * 1003) == f"{'x' * 1000}… (3 more characters)"
    assert shown("a\tb\n\x1b[0m\u202e\udcff") == r"a\tb\n\x1b[0m\u202e\udcff"
