"""NVIDIA's libraries without a product: judged by the driver they need, not called a build that lost its CUDA code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit import run_audit
from pipeline.model.finding import Severity, Status
from pipeline.model.target import Flavour
from pipeline.policy import load_policy
from pipeline.rules.declaration import Declaration, HostFloor
from tests.rules.forge import Elf, build
from tests.toolchain import wheel

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import AuditReport

pytestmark = pytest.mark.network
POLICY = load_policy()
RUNTIME = "nvidia-cuda-runtime==13.0.96"
A_CUDA_LANE = Declaration(
    lane="cuda", flavour=Flavour.CUDA, archs=(), toolkit=None, driver_floor=None, targets=(), host=HostFloor()
)


def audited(path: Path, target: str, declaration: Declaration | None = None) -> AuditReport:
    return run_audit([path], [POLICY.parse_target(target)], POLICY, declaration=declaration)


def test_the_runtimes_wheel_is_judged_by_its_driver() -> None:
    report = audited(wheel(RUNTIME), "80@580")
    assert (report.status, report.targets[0].verdict) == (0, "pass")
    assert [(found.rule, found.severity) for found in report.findings] == [("cpu-flavour", Severity.NOTE)]
    judged = {outcome.rule: outcome for outcome in report.outcomes}
    assert (judged["toolkit-major"].status, judged["toolkit-major"].examined) == (Status.PASS, 1)
    old = audited(wheel(RUNTIME), "80@535").targets[0]
    assert (old.verdict, old.causes, old.errors) == ("fail", ("toolkit-major",), ("cudaErrorInsufficientDriver",))


def test_in_a_lane_that_declares_cuda_it_is_no_product() -> None:
    assert audited(wheel(RUNTIME), "80@580", A_CUDA_LANE).targets[0].causes == ("cpu-flavour",)


def test_what_depends_on_no_driver_is_unknown(tmp_path: Path) -> None:
    build(Elf("libnvrtc.so.12"), tmp_path)
    report = audited(tmp_path, "80@535")
    assert (report.status, report.targets[0].verdict, report.targets[0].causes) == (1, "unknown", ("cpu-flavour",))


def test_one_library_of_a_product_beside_them_is_enough(tmp_path: Path) -> None:
    for name in ("libcudart.so.12", "libserver.so"):
        build(Elf(name), tmp_path)
    report = audited(tmp_path, "80@535")
    assert (report.targets[0].verdict, report.targets[0].causes) == ("fail", ("cpu-flavour",))


def test_beside_a_product_an_unused_runtime_asks_for_nothing(tmp_path: Path) -> None:
    """What a bundle ships and nothing links is not opened: only what is needed counts."""
    for name, needed in (("libcudart.so.13", "libc.so.6"), ("libserver.so", "libc.so.6")):
        build(Elf(name, needed=[needed]), tmp_path)
    assert "toolkit-major" not in audited(tmp_path, "80@535").targets[0].causes
