"""Kernels that are missing: what the source decided is told from what was lost; shared memory and registers by GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit.run import run_audit
from pipeline.model.finding import Severity, Status
from pipeline.model.lane import Flavour
from pipeline.policy import Policy, load_policy
from pipeline.rules.declaration import Declaration, HostFloor
from tests.rules.cases import FIRST, SECOND, entry, image, packed

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import AuditReport
    from tests.toolchain import Image

pytestmark = pytest.mark.network

HALF, BFLOAT = (entry(f"_Z5scaleI{len(name)}{name}EvPT_") for name in ("__half", "__nv_bfloat16"))
THIRD = entry("third")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def audited(
    folder: Path,
    target: str,
    policy: Policy,
    *images: Image,
    declaration: Declaration | None = None,
    names: tuple[str, ...] = (),
) -> AuditReport:
    path = packed(*images, names=names)(folder)
    return run_audit([path], [policy.parse_target(target)], policy, declaration=declaration, kernels=True)


def overruling(*, by_design: tuple[str, ...] = (), never: tuple[str, ...] = ()) -> Declaration:
    return Declaration(
        lane="cuda",
        flavour=Flavour.CUDA,
        archs=(),
        toolkit=None,
        driver_floor=None,
        targets=(),
        host=HostFloor(),
        by_design=by_design,
        never_by_design=never,
    )


def told(report: AuditReport, rule: str = "kernel-missing") -> list[tuple[Severity, str]]:
    return [(finding.severity, finding.observed) for finding in report.findings if finding.rule == rule]


def verdict(report: AuditReport) -> str:
    return report.targets[0].verdict.value


GATED = (image("75", FIRST), image("80", FIRST, SECOND), image("90", FIRST, SECOND))
LOST = (image("75", FIRST, SECOND), image("80", FIRST), image("90", FIRST, SECOND))
OLD_ONLY = (image("75", FIRST, SECOND), image("80", FIRST), image("90", FIRST))
SWAPPED = (image("75", FIRST, HALF), image("80", FIRST, BFLOAT))
SPECIFIC = (image("80", FIRST), image("90", FIRST), image("90a", FIRST, SECOND))


def test_a_kernel_for_newer_gpus_is_a_warning_that_names_it(tmp_path: Path, policy: Policy) -> None:
    report = audited(tmp_path, "75@570", policy, *GATED)
    assert verdict(report) == "pass"
    observed = "cubin for sm_75 lacks 1 kernel that sm_80, sm_90 have: second (written for newer GPUs)"
    assert told(report) == [(Severity.WARNING, observed)]
    assert report.kernels is not None
    assert dict(report.kernels.missing) == {"75@570.86.10": ("second",)}


@pytest.mark.parametrize(("images", "target"), [(LOST, "80@570"), (OLD_ONLY, "90@570")])
def test_a_kernel_that_older_gpus_have_is_lost(
    images: tuple[Image, ...], target: str, tmp_path: Path, policy: Policy
) -> None:
    report = audited(tmp_path, target, policy, *images)
    assert verdict(report) == "fail"
    assert report.targets[0].causes == ("kernel-missing",)
    assert report.targets[0].errors == ("CUDA_ERROR_NOT_FOUND",)
    assert ": second" in told(report)[0][1]


@pytest.mark.parametrize("target", ["75@570", "80@570"])
def test_another_instantiation_is_a_note(target: str, tmp_path: Path, policy: Policy) -> None:
    report = audited(tmp_path, target, policy, *SWAPPED)
    assert verdict(report) == "pass"
    assert [severity for severity, _ in told(report)] == [Severity.NOTE]
    assert "scale (instantiated otherwise)" in told(report)[0][1]


@pytest.mark.parametrize(
    ("target", "severity"), [("75@570", Severity.WARNING), ("80@570", Severity.NOTE)], ids=["registered", "not"]
)
def test_host_code_decides_which_instantiation_matters(
    target: str, severity: Severity, tmp_path: Path, policy: Policy
) -> None:
    """As in vllm and onnxruntime: the program knows the name that images from sm_80 on have."""
    names = ("first", "_Z5scaleI13__nv_bfloat16EvPT_")
    report = audited(tmp_path, target, policy, *SWAPPED, names=names)
    assert verdict(report) == "pass"
    assert [told_as for told_as, _ in told(report)] == [severity]


def test_a_kernel_that_host_code_launches_and_an_image_lost_fails(tmp_path: Path, policy: Policy) -> None:
    assert verdict(audited(tmp_path / "a", "80@570", policy, *LOST, names=("first", "second"))) == "fail"
    harmless = audited(tmp_path / "b", "80@570", policy, *LOST, names=("first",))
    assert verdict(harmless) == "pass"
    assert told(harmless) == [
        (Severity.NOTE, "cubin for sm_80 lacks 1 kernel that sm_75, sm_90 have: second (not known to the host code)")
    ]


def test_what_only_an_architecture_specific_image_has_is_for_newer_gpus(tmp_path: Path, policy: Policy) -> None:
    assert [severity for severity, _ in told(audited(tmp_path, "80@570", policy, *SPECIFIC))] == [Severity.WARNING]
    assert told(audited(tmp_path / "hopper", "90@570", policy, *SPECIFIC)) == []


def test_settings_of_the_lane_overrule_it(tmp_path: Path, policy: Policy) -> None:
    strict = audited(tmp_path, "75@570", policy, *GATED, declaration=overruling(never=("libk.so",)))
    assert verdict(strict) == "fail"
    lenient = audited(tmp_path / "b", "80@570", policy, *LOST, declaration=overruling(by_design=("libk*",)))
    assert verdict(lenient) == "pass"
    assert [severity for severity, _ in told(lenient)] == [Severity.NOTE]


def test_ptx_that_serves_is_held_to_it_too(tmp_path: Path, policy: Policy) -> None:
    report = audited(tmp_path, "90@570", policy, image("80", FIRST, SECOND), image("90", FIRST, kind="ptx"))
    assert verdict(report) == "fail"
    assert "PTX 8.7 for compute_90 lacks 1 kernel that sm_80 have: second" in told(report)[0][1]


def test_without_the_option_the_rules_do_not_apply(tmp_path: Path, policy: Policy) -> None:
    report = run_audit([packed(*LOST)(tmp_path)], [policy.parse_target("80@570")], policy)
    rules = {"kernel-missing", "register-budget"}
    outcomes = [outcome for outcome in report.outcomes if outcome.rule in rules]
    assert {outcome.status for outcome in outcomes} == {Status.NOT_APPLICABLE}
    assert all("--kernels" in (outcome.reason or "") for outcome in outcomes)
    assert verdict(report) == "pass"
    assert report.kernels is None


@pytest.mark.parametrize(
    ("target", "size", "expected"),
    [
        ("90@570", 48 << 10, "pass"),
        ("90@570", (48 << 10) + 1, "unknown"),
        ("90@570", 227 << 10, "unknown"),
        ("90@570", (227 << 10) + 1, "fail"),
        ("120@570", 99 << 10, "unknown"),
        ("120@570", (99 << 10) + 1, "fail"),
        ("61@570", (48 << 10) + 1, "fail"),
    ],
)
def test_static_shared_memory_by_gpu(target: str, size: int, expected: str, tmp_path: Path, policy: Policy) -> None:
    """The limits at 227 KiB were met to the byte by an H200."""
    big = image("60", entry("big", shared=size), kind="ptx")
    report = audited(tmp_path, target, policy, big)
    assert verdict(report) == expected
    assert bool(told(report, "static-shared-memory")) == (expected != "pass")


@pytest.mark.parametrize("arch", ["80", "90"])
def test_what_the_system_reserves_is_not_the_kernels(arch: str, tmp_path: Path, policy: Policy) -> None:
    report = audited(tmp_path, f"{arch}@570", policy, image(arch, entry("full", shared=48 << 10)))
    assert verdict(report) == "pass"
    assert report.kernels is not None
    assert report.kernels.groups[0].static_shared == 48 << 10


def test_a_register_count_over_the_largest_block_is_a_warning(tmp_path: Path, policy: Policy) -> None:
    bounds = ".maxntid 1024, 1, 1\n.maxnreg 200"
    report = audited(tmp_path, "80@570", policy, image("80", entry("heavy", bounds, registers=240)))
    assert verdict(report) == "pass"
    assert told(report, "register-budget") == [
        (Severity.WARNING, "heavy in cubin for sm_80: 200 registers x at most 1024 threads are 204800")
    ]


def test_the_table_counts_kernels_by_architecture(tmp_path: Path, policy: Policy) -> None:
    report = audited(tmp_path, "80@570", policy, *SWAPPED, image("90", FIRST, HALF, BFLOAT, THIRD))
    assert report.kernels is not None
    table = {group.name: (group.kernels, dict(group.archs)) for group in report.kernels.groups}
    assert table == {
        "first": (1, {"sm_75": 1, "sm_80": 1, "sm_90": 1}),
        "scale": (2, {"sm_75": 1, "sm_80": 1, "sm_90": 2}),
        "third": (1, {"sm_90": 1}),
    }
