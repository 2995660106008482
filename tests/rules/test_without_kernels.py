"""Containers from which nothing can be launched are neither coverage nor gaps; those with one kernel always count."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

import pytest

from pipeline.audit import run_audit
from pipeline.model.finding import Severity
from pipeline.policy import load_policy
from pipeline.rules.distributions import brings
from pipeline.rules.nvidia import is_toolkit_library
from tests.rules.forge import Elf, build, container, pack
from tests.toolchain import Image, ptxas, wheel

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import AuditReport

pytestmark = pytest.mark.network
POLICY = load_policy()


def ptx(version: str, target: str, body: str = "") -> bytes:
    return f".version {version}\n.target {target}\n.address_size 64\n{body}".encode()


def default_unit(body: str = "") -> bytes:
    """A file that was compiled for nvcc's default architecture while its neighbours have a list: sm_52 and its PTX."""
    text = ptx("8.7", "sm_52", body)
    images = [Image("cubin", "52", ptxas("12.8", "sm_52", text.decode())), Image("ptx", "52", text)]
    return pack(images, "12.8", "lz4")


def audited(folder: Path, unit: bytes, *, kernels: bool = False) -> AuditReport:
    build(Elf("libk.so", [container("12.8", "80 90"), unit]), folder)
    return run_audit([folder], [POLICY.parse_target("80@535")], POLICY, kernels=kernels)


@pytest.mark.parametrize("kernels", [False, True])
def test_a_file_without_device_code_raises_no_floor(tmp_path: Path, *, kernels: bool) -> None:
    report = audited(tmp_path, default_unit(), kernels=kernels)
    assert (report.targets[0].verdict, report.targets[0].fatbins.total) == ("pass", 1)
    assert report.targets[0].floor.driver == "525.60.13"
    assert any("containers without kernels" in note for note in report.notes)


@pytest.mark.parametrize("kernels", [False, True])
def test_one_kernel_in_it_does(tmp_path: Path, *, kernels: bool) -> None:
    report = audited(tmp_path, default_unit(".visible .entry k(){ret;}"), kernels=kernels)
    assert (report.targets[0].verdict, report.targets[0].causes) == ("fail", ("ptx-isa",))
    assert report.targets[0].fatbins.total == 2


@pytest.mark.parametrize("kernels", [False, True])
@pytest.mark.parametrize("words", [40, 120])
def test_of_a_file_with_variables_only_the_payload_says_so(words: int, tmp_path: Path, *, kernels: bool) -> None:
    variables = "".join(f".global .align 4 .b32 word{number} = 7;\n" for number in range(words))
    assert audited(tmp_path, default_unit(variables), kernels=kernels).targets[0].verdict == "pass"
    launched = default_unit(f"{variables}.visible .entry k(){{ret;}}")
    assert audited(tmp_path / "k", launched, kernels=kernels).targets[0].causes == ("ptx-isa",)


@pytest.mark.parametrize("kernels", [False, True])
def test_ptx_alone_counts_where_it_has_a_kernel(tmp_path: Path, *, kernels: bool) -> None:
    unit = pack([Image("ptx", "90", ptx("8.7", "sm_90"))], "12.8", "none")
    assert audited(tmp_path, unit, kernels=kernels).targets[0].verdict == "pass"
    unit = pack([Image("ptx", "90", ptx("8.7", "sm_90", ".visible .entry k(){ret;}"))], "12.8", "none")
    assert audited(tmp_path / "k", unit, kernels=kernels).targets[0].verdict == "fail"


def test_the_toolkits_distribution_brings_its_parts() -> None:
    for library in ("libcudart.so.13", "libcublas.so.13", "libcufile.so.0", "libnvrtc.so.13", "libcupti.so.13"):
        assert brings(("cuda-toolkit",), library), library
    for library in ("libcudnn.so.9", "libnccl.so.2", "libcusparseLt.so.0", "libnvshmem_host.so.3", "libgomp.so.1"):
        assert not brings(("cuda-toolkit",), library), library


def test_a_distribution_brings_the_library_of_its_name_and_what_it_requires() -> None:
    assert brings(("librmm-cu12",), "librmm.so")
    assert brings(("rapids-logger",), "librapids_logger.so")
    assert brings(("nvidia-cusparse-cu12",), "libnvJitLink.so.12")
    assert not brings(("nvidia-cusparse-cu12",), "libnvJitLink.so.13")
    assert not brings(("rmm", "logger"), "librmm_extra.so")


def test_alternative_builds_of_nvidias_libraries_are_nvidias() -> None:
    for name in ("libnvrtc-builtins.alt.so.13.0", "libnvrtc.alt.so.13", "libnvrtc_static.a", "libcudart_static.a"):
        assert is_toolkit_library(name), name
    for name in ("libnvrtc-mine.so", "libcudart.alt.so.so", "libggml-cuda.so"):
        assert not is_toolkit_library(name), name


def test_plugins_without_kernels_of_a_real_library() -> None:
    """cuDSS's threading and communication layers hold what nvcc writes for files without device code, and no more."""
    report = run_audit([wheel("nvidia-cudss-cu12==1.0.0.35")], [POLICY.parse_target("80@535")], POLICY)
    assert "ptx-isa" not in report.targets[0].causes
    told = {finding.observed: finding.severity for finding in report.findings if finding.rule == "needed-library"}
    assert told["needs libmpi.so.40 (a plugin for cluster network)"] is Severity.WARNING


def test_in_a_file_too_large_to_hold_small_payloads_say_so(tmp_path: Path) -> None:
    """As in vllm's _C.abi3.so: a cubin of 3 KB and PTX of 1.5 KB, with variables only."""
    variables = "".join(f".global .align 4 .b32 word{number} = 7;\n" for number in range(40))
    path = build(Elf("libk.so", [container("12.8", "80 90"), default_unit(variables)], padding=33 << 20), tmp_path)
    archive = tmp_path / "k.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        tar.add(path, path.name)
    for artifact in (path, archive):
        report = run_audit([artifact], [POLICY.parse_target("80@535")], POLICY)
        assert (report.targets[0].verdict, report.targets[0].fatbins.total) == ("pass", 1)
