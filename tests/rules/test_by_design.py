"""Code absent by design is told from a short arch list, on small libraries shaped like the real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit import run_audit
from pipeline.model.lane import Flavour
from pipeline.policy import Policy, load_policy
from pipeline.rules.declaration import Declaration, HostFloor
from pipeline.rules.nvidia import is_toolkit_library
from tests.rules.forge import Elf, build, container

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import TargetReport

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def units(*names: str, toolkit: str = "12.8") -> list[bytes]:
    return [container(toolkit, text) for text in names]


def asked(elf: Elf, target: str, folder: Path, policy: Policy, declaration: Declaration | None = None) -> TargetReport:
    path = build(elf, folder)
    return run_audit([path], [policy.parse_target(target)], policy, declaration=declaration).targets[0]


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


GENERAL = ("80 90", "80 90", "80 90")


def test_specific_code_beside_full_coverage_is_excused(tmp_path: Path, policy: Policy) -> None:
    answer = asked(Elf("libk.so", units(*GENERAL, "90a")), "80@535", tmp_path, policy)
    assert answer.verdict == "pass"
    assert (answer.fatbins.native, answer.fatbins.by_design, answer.fatbins.total) == (3, 1, 4)


def test_specific_code_alone_counts(tmp_path: Path, policy: Policy) -> None:
    answer = asked(Elf("libk.so", units("90a", "90a")), "80@535", tmp_path, policy)
    assert answer.causes == ("arch-suffix",)


def test_specific_code_beside_a_gap_counts(tmp_path: Path, policy: Policy) -> None:
    answer = asked(Elf("libk.so", units(*GENERAL, "90a")), "75@535", tmp_path, policy)
    assert answer.causes[0] == "arch-missing"
    assert answer.fatbins.unloadable == 4


def test_one_unit_with_a_shorter_list_counts(tmp_path: Path, policy: Policy) -> None:
    answer = asked(Elf("libk.so", units("75 80 90", "75 80 90", "80 90")), "75@535", tmp_path, policy)
    assert answer.causes == ("arch-missing",)
    assert (answer.fatbins.native, answer.fatbins.unloadable) == (2, 1)


def test_a_toolkit_library_dispatches(tmp_path: Path, policy: Policy) -> None:
    cublas = Elf("libcublasLt.so.12", units("70", "80", "90", "80 90"))
    answer = asked(cublas, "90@535", tmp_path, policy)
    assert (answer.verdict, answer.fatbins.by_design) == ("pass", 2)


def test_a_toolkit_library_without_the_gpu_fails(tmp_path: Path, policy: Policy) -> None:
    answer = asked(Elf("libcublasLt.so.12", units("70", "80", "90")), "120@570", tmp_path, policy)
    assert answer.causes == ("arch-missing",)


def test_a_toolkit_library_does_not_fail_for_fallback_ptx(tmp_path: Path, policy: Policy) -> None:
    answer = asked(Elf("libcusparse.so.12", units("75 80", "70 ptx:61")), "80@535", tmp_path, policy)
    assert answer.verdict == "pass"
    other = asked(Elf("libk.so", units("75 80", "70 ptx:61")), "80@535", tmp_path, policy)
    assert other.causes == ("ptx-isa",)


def test_an_own_library_of_a_few_single_architectures_does_not_dispatch(tmp_path: Path, policy: Policy) -> None:
    answer = asked(Elf("libk.so", units("70", "80", "90")), "90@535", tmp_path, policy)
    assert answer.causes == ("arch-missing",)


def test_a_library_with_many_single_architectures_dispatches(tmp_path: Path, policy: Policy) -> None:
    answer = asked(Elf("libk.so", units(*(["70", "80", "90"] * 12), "70 80 90")), "90@535", tmp_path, policy)
    assert (answer.verdict, answer.fatbins.by_design, answer.fatbins.native) == ("pass", 24, 13)


def test_a_declaration_overrules(tmp_path: Path, policy: Policy) -> None:
    few = Elf("libk.so", units("70", "80", "90"))
    assert asked(few, "90@535", tmp_path, policy, overruling(by_design=("libk.so",))).verdict == "pass"
    specific = Elf("libs.so", units(*GENERAL, "90a"))
    assert asked(specific, "80@535", tmp_path, policy, overruling(never=("lib*.so",))).causes == ("arch-suffix",)


def test_a_declared_library_may_lack_a_gpu_altogether(tmp_path: Path, policy: Policy) -> None:
    """Where the rest of the product serves it; a product of nothing but declared gaps is no product."""
    root = tmp_path / "both"
    build(Elf("libk.so", units(*GENERAL)), root)
    build(Elf("libfa.so", units("75", "75")), root)
    targets = [policy.parse_target("90@535")]
    loose = overruling(by_design=("libfa.so",))
    assert run_audit([root], targets, policy, declaration=loose).targets[0].verdict == "pass"
    everything = overruling(by_design=("*",))
    alone = asked(Elf("libfa.so", units("75", "75")), "90@535", tmp_path, policy, everything)
    assert (alone.verdict, alone.fatbins.unloadable) == ("fail", 2)


def test_a_declaration_does_not_excuse_unreadable_code(tmp_path: Path, policy: Policy) -> None:
    library = Elf("libk.so", units("80", "ptx:80"))
    assert asked(library, "80@535", tmp_path, policy, overruling(by_design=("libk.so",))).causes == ("ptx-isa",)


def test_the_stricter_setting_holds(tmp_path: Path, policy: Policy) -> None:
    both = overruling(by_design=("lib*",), never=("libs.so",))
    path = build(Elf("libs.so", units(*GENERAL, "90a")), tmp_path)
    report = run_audit([path], [policy.parse_target("80@535")], policy, declaration=both)
    assert report.targets[0].causes == ("arch-suffix",)
    assert report.findings[0].declared == "runs on sm_80 (never_by_design: libs.so)"


def test_builds_per_cuda_version_are_alternatives(tmp_path: Path, policy: Policy) -> None:
    root = tmp_path / "package"
    build(Elf("libk_cuda126.so", units("80 90")), root)
    build(Elf("libk_cuda130.so", [container("13.0", "80 90 120")]), root)
    targets = [policy.parse_target(text) for text in ("80@535", "120@580", "75@535")]
    report = run_audit([root], targets, policy)
    assert [target.verdict for target in report.targets] == ["pass", "pass", "fail"]
    assert [target.floor.driver for target in report.targets] == ["525.60.13", "580.65.06", ""]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("libcublasLt.so.12", True),
        ("nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9", True),
        ("libcudart-9335f6a2.so.12.4.127", True),
        ("libnccl.so.2", True),
        ("libnppc.so.12", True),
        ("libcublas_static.a", True),
        ("libggml-cuda.so", False),
        ("libtorch_cuda.so", False),
        ("libcudaq.so", False),
    ],
)
def test_names_of_toolkit_libraries(name: str, known: bool) -> None:
    assert is_toolkit_library(name) is known


def test_counterparts_are_excused_in_large_libraries_only(tmp_path: Path, policy: Policy) -> None:
    large = Elf("liblarge.so", units(*(["80 90"] * 16), "80 89", *(["90a"] * 8)))
    answer = asked(large, "90@535", tmp_path, policy)
    assert (answer.verdict, answer.fatbins.by_design) == ("pass", 1)
    small = Elf("libsmall.so", units(*(["80 90"] * 3), "80 89", "90a", "90a"))
    assert asked(small, "90@535", tmp_path, policy).causes == ("arch-missing",)


def test_a_specific_library_is_excused_beside_large_ones_only(tmp_path: Path, policy: Policy) -> None:
    for count, verdict in ((16, "pass"), (3, "fail")):
        root = tmp_path / str(count)
        build(Elf("libgeneral.so", units(*(["80 90"] * count))), root)
        build(Elf("libmla.so", units("90a", "90a")), root)
        report = run_audit([root], [policy.parse_target("80@535")], policy)
        assert report.targets[0].verdict == verdict
