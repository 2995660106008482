from __future__ import annotations

from dataclasses import replace

from pipeline.machine import InstalledGpu, this_machine
from pipeline.model.finding import Status
from pipeline.report.smoke_text import smoke_text
from pipeline.serve.outcome import CheckId, Diagnosis, Fault, SmokeCheck
from tests.serve.test_outcome import PASSED, REPORT, reporting


def test_a_pass_is_a_table_and_a_word() -> None:
    lines = smoke_text(REPORT, color=False).splitlines()
    assert lines[0] == f"b.tar.gz  sha256 {'0' * 12}…  on the CPU, process"
    assert lines[3].split() == ["start", "pass", "0.10", "s"]
    assert lines[-1] == "PASS"
    assert "\x1b[32m" in smoke_text(REPORT, color=True)


def test_a_failure_shows_its_name_the_explained_error_and_the_log() -> None:
    diagnosis = Diagnosis("CUDA error: device kernel image is invalid", "CUDA_ERROR_INVALID_IMAGE", "It is damaged.")
    failed = SmokeCheck(CheckId.READY, Status.FAIL, 0.1, "was killed by SIGABRT", Fault.DIES_AT_LOAD, diagnosis)
    gpu = InstalledGpu(0, "NVIDIA H200", "GPU-1", 90, "580.65.06")
    report = replace(reporting(PASSED[0], failed), machine=this_machine(engine="docker", gpu=gpu))
    text = smoke_text(report, color=False)
    assert "NVIDIA H200, driver 580.65.06, docker" in text
    assert "dies-at-load: was killed by SIGABRT" in text
    assert "CUDA_ERROR_INVALID_IMAGE: It is damaged." in text
    assert "  more: cubingate explain CUDA_ERROR_INVALID_IMAGE" in text
    assert "  | CUDA error: device kernel image is invalid" in text
    assert text.endswith("FAIL")
