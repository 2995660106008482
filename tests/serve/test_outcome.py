from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.errors import ExitStatus
from pipeline.machine import this_machine
from pipeline.model.finding import Status, Verdict
from pipeline.serve.outcome import CheckId, Diagnosis, Fault, SmokeCheck, SmokeReport

PASSED = tuple(SmokeCheck(check, Status.PASS, 0.1) for check in CheckId)
REPORT = SmokeReport(
    path="b.tar.gz",
    sha256="0" * 64,
    size=1,
    format="tar.gz",
    model_sha256="1" * 64,
    machine=this_machine(engine="process"),
    checks=PASSED,
    seconds_after_ready=0.2,
)
ANY = Diagnosis("", None, None)


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
    report = replace(REPORT, checks=checks)
    assert report.verdict is Verdict.UNKNOWN
    assert report.status is ExitStatus.INFRASTRUCTURE
    assert report.outcome("smoke@cpu").status is Status.ERROR


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_decides_and_only_the_product_s_refuse_it(fault: Fault) -> None:
    report = replace(REPORT, checks=(PASSED[0], failing(fault), *PASSED[2:]))
    blameless = fault in {Fault.PORT_TAKEN, Fault.INFRASTRUCTURE}
    assert report.verdict is (Verdict.UNKNOWN if blameless else Verdict.FAIL)
    assert report.status is (ExitStatus.INFRASTRUCTURE if blameless else ExitStatus.REFUSED)
    assert report.decisive == report.checks[1]
    assert report.outcome("smoke@cpu").reason == "ready: because"


def test_a_failure_of_the_product_weighs_more_than_an_error_before_it() -> None:
    error = replace(failing(Fault.INFRASTRUCTURE), id=CheckId.START)
    report = replace(REPORT, checks=(error, failing(Fault.NO_MODEL), *PASSED[2:]))
    assert report.decisive == report.checks[1]
    assert report.status is ExitStatus.REFUSED
