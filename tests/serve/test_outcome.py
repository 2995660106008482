from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.errors import ExitStatus
from pipeline.machine import this_machine
from pipeline.model.finding import Status, Verdict
from pipeline.serve.outcome import CaseReport, CheckId, Diagnosis, Fault, Measured, SmokeCheck, SmokeReport

PASSED = tuple(SmokeCheck(check, Status.PASS, 0.1) for check in CheckId)
CASE = CaseReport(case="tiny", model_sha256="1" * 64, checks=PASSED, measured=Measured())
REPORT = SmokeReport(
    path="b.tar.gz",
    sha256="0" * 64,
    size=1,
    format="tar.gz",
    machine=this_machine(engine="process"),
    cases=(CASE,),
    seconds_after_ready=0.2,
)
ANY = Diagnosis("", None, None)


def reporting(*checks: SmokeCheck) -> SmokeReport:
    return replace(REPORT, cases=(replace(CASE, checks=checks),))


def failing(fault: Fault) -> SmokeCheck:
    return SmokeCheck(CheckId.READY, fault.status, 0.1, "because", fault, ANY)


def test_only_every_check_passed_is_a_pass() -> None:
    assert REPORT.verdict is Verdict.PASS
    assert REPORT.outcome("smoke@cpu").examined == len(CheckId)


@pytest.mark.parametrize(
    "checks",
    [(), PASSED[:-1], PASSED[1:], (*PASSED[:-1], SmokeCheck(CheckId.TEARDOWN, Status.SKIPPED, 0.0, "not reached"))],
)
def test_a_check_that_was_not_made_is_no_pass(checks: tuple[SmokeCheck, ...]) -> None:
    report = reporting(*checks)
    assert report.verdict is Verdict.UNKNOWN
    assert report.status is ExitStatus.INFRASTRUCTURE
    assert report.outcome("smoke@cpu").status is Status.ERROR


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_decides_and_only_the_product_s_refuse_it(fault: Fault) -> None:
    report = reporting(PASSED[0], failing(fault), *PASSED[2:])
    blameless = fault in {Fault.PORT_TAKEN, Fault.INFRASTRUCTURE}
    assert report.verdict is (Verdict.UNKNOWN if blameless else Verdict.FAIL)
    assert report.status is (ExitStatus.INFRASTRUCTURE if blameless else ExitStatus.REFUSED)
    assert report.decisive == report.checks[1]
    assert report.outcome("smoke@cpu").reason == "ready: because"


def test_a_failure_of_the_product_weighs_more_than_an_error_before_it() -> None:
    error = replace(failing(Fault.INFRASTRUCTURE), id=CheckId.START)
    report = reporting(error, failing(Fault.NO_MODEL), *PASSED[2:])
    assert report.decisive == report.checks[1]
    assert report.status is ExitStatus.REFUSED


def test_a_case_that_failed_or_is_missing_outweighs_those_that_passed() -> None:
    failed = replace(CASE, case="moe", checks=(PASSED[0], failing(Fault.DIES_AT_LOAD), *PASSED[2:]))
    both = replace(REPORT, cases=(CASE, failed))
    assert both.verdict is Verdict.FAIL
    assert {row["model"] for row in both.to_json()["checks"]} == {"tiny", "moe"}
    assert replace(REPORT, cases=()).verdict is Verdict.UNKNOWN


def test_what_does_not_apply_is_neither_a_pass_nor_in_its_way() -> None:
    beside = SmokeCheck(CheckId.BUDGETS, Status.NOT_APPLICABLE, 0.0, "none are set")
    report = reporting(*PASSED[:-1], beside)
    assert report.verdict is Verdict.PASS
    assert report.outcome("smoke@cpu").examined == len(CheckId) - 1
