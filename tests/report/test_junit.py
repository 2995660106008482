"""A failure is the product's, an error that nobody could look, a skip has its reason; the published schema takes it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, fromstring

import pytest

from pipeline.errors import InfrastructureError
from pipeline.gate import judge, refuse
from pipeline.model.finding import Status
from pipeline.model.lane import Waiver
from pipeline.report.audit_junit import audit_junit
from pipeline.report.gate_junit import gate_junit
from tests.report.conftest import finding, hostile, many, told
from tests.values import A30, POLICY, TERMS, bundle, cpu_lane, cuda_lane, record

if TYPE_CHECKING:
    from pathlib import Path

    import xmlschema

    from pipeline.report.told import Told


GOLDEN = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="cubingate" tests="6" failures="2" errors="1" time="0.000">
 <testsuite name="audit targets of bundle.tar.gz" tests="2" failures="1" errors="0" time="0.000" skipped="0">
  <properties>
   <property name="examined" value="12 files" />
   <property name="verdict" value="fail" />
   <property name="sha256 of /builds/7/bundle.tar.gz" value="{digest}" />
  </properties>
  <testcase classname="bundle.tar.gz.target" name="80@535.288.01 (A30)" time="0.000">
   <failure type="fatbin-codec" message="fatbin-codec; CUDA_ERROR_INVALID_IMAGE">error[fatbin-codec] x143 {path}: \
Zstandard-compressed cubin for sm_80 needs driver &gt;= 550.54.14; declared driver &gt;= 535.288.01; \
fix: build with --compress-mode=speed</failure>
  </testcase>
  <testcase classname="bundle.tar.gz.target" name="90@580.65.06" time="0.000" />
 </testsuite>
""".format(digest="0" * 64, path=finding().path)


def test_a_small_audit_reads_like_this() -> None:
    assert audit_junit(told()).startswith(GOLDEN)


def cases(text: str) -> dict[str, str]:
    """Each case by name with how it ended."""
    root = fromstring(text.encode())  # noqa: S314 -- our own
    return {case.attrib["name"]: _ending(case) for case in root.iter("testcase")}


def _ending(case: Element) -> str:
    (below,) = list(case) or [Element("passed")]
    return below.tag


@pytest.mark.network
@pytest.mark.parametrize("report", [told(), hostile(), many(100), told(findings=(), targets=(), outcomes=())])
def test_an_audit_fits_the_published_schema(report: Told, junit_schema: xmlschema.XMLSchema) -> None:
    junit_schema.validate(audit_junit(report))


@pytest.mark.network
def test_the_schema_refuses_what_is_wrong(junit_schema: xmlschema.XMLSchema) -> None:
    assert not junit_schema.is_valid(audit_junit(told()).replace("failures=", "fallen=", 2))


def test_an_audit_ends_each_case_as_it_should() -> None:
    assert cases(audit_junit(told())) == {
        "80@535.288.01 (A30)": "failure",
        "90@580.65.06": "passed",
        "fatbin-codec": "failure",
        "ptx-isa": "passed",
        "payload": "skipped",
        "corrupt-input": "error",
    }


def test_damage_is_an_error_and_no_failure() -> None:
    report = told()
    damaged = replace(report, targets=(replace(report.targets[0], causes=("corrupt-input",)),))
    assert cases(audit_junit(damaged))["80@535.288.01 (A30)"] == "error"


def test_what_is_left_out_is_counted() -> None:
    text = audit_junit(many(100_000))
    assert len(text) < 100_000
    assert "more lines left out; JSON has all" in text


@pytest.mark.network
def test_a_gate_tells_lanes_checks_and_reasons(tmp_path: Path, junit_schema: xmlschema.XMLSchema) -> None:
    good, waived = cpu_lane(), cpu_lane(id="waived", waivers=(Waiver("smoke@cpu", "in repair", "me", "2026-12-24"),))
    bad = cuda_lane(required=("audit", "smoke@80@535.288.01", "load@80@535.288.01"))
    bundles = {lane.id: bundle(tmp_path, lane, lane.id.encode()) for lane in (good, waived, bad)}
    records = [
        record(bad, bundles[bad.id], "audit"),
        record(bad, bundles[bad.id], "smoke@80@535.288.01", status=Status.FAIL, machine=A30),
        record(bad, bundles[bad.id], "load@80@535.288.01", status=Status.ERROR, machine=A30),
    ]
    both = [record(good, bundles["cpu"], check) for check in good.required]
    verdicts = [
        judge(good, bundles["cpu"], both, terms=TERMS),
        judge(waived, bundles["waived"], [record(waived, bundles["waived"], "audit")], terms=TERMS),
        judge(bad, bundles[bad.id], records, terms=TERMS),
        judge(replace(bad, id="unbuilt", required=("audit",)), None, [], terms=TERMS),
        refuse(replace(good, id="unread", required=("audit",)), InfrastructureError("no disk"), POLICY),
        judge(replace(good, id="asks-nothing", required=()), bundles["cpu"], [], terms=TERMS),
    ]
    text = gate_junit(verdicts)
    junit_schema.validate(text)
    suites = {
        suite.attrib["name"]: [_ending(case) for case in suite.iter("testcase")]
        for suite in fromstring(text.encode())  # noqa: S314 -- our own
    }
    assert suites == {
        "gate cpu": ["passed", "passed"],
        "gate waived": ["passed", "skipped"],
        "gate cuda12.8-sm80": ["passed", "failure", "error"],
        "gate unbuilt": ["error"],
        "gate unread": ["error"],
        "gate asks-nothing": ["error"],
    }
