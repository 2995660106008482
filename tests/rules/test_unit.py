"""Which containers are device code that counts, on containers by NVIDIA's own tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.audit import run_audit
from pipeline.policy import Policy, load_policy
from tests.rules.forge import Elf, build, container, link_stub, pack
from tests.toolchain import TOOLKITS, Image, cubin_image, ptxas

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.audit.report import TargetReport

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def asked(containers: list[bytes], target: str, folder: Path, policy: Policy) -> TargetReport:
    path = build(Elf("libk.so", containers), folder)
    return run_audit([path], [policy.parse_target(target)], policy).targets[0]


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
@pytest.mark.parametrize(
    ("toolkit", "archs"), [("11.8", ("75", "80")), ("12.9", ("80", "86", "100")), ("13.5", ("80",))]
)
def test_what_the_device_link_leaves_behind_is_no_gap(
    toolkit: str, archs: tuple[str, ...], codec: str, tmp_path: Path, policy: Policy
) -> None:
    """As ``nvcc -gencode arch=compute_80,code=sm_80 -gencode …,code=sm_86 -gencode …,code=compute_80`` links it."""
    kernels = container(toolkit, " ".join([*archs, "ptx:75"]))
    answer = asked([link_stub(toolkit, *archs, codec=codec), kernels], "90@620", tmp_path, policy)
    assert (answer.verdict, answer.fatbins.jit, answer.fatbins.total) == ("pass", 1, 1)


@pytest.mark.parametrize("archs", [("52",), ("52", "61", "75")])
def test_what_the_device_link_leaves_behind_is_no_coverage(
    archs: tuple[str, ...], tmp_path: Path, policy: Policy
) -> None:
    kernels = container("12.4", "70 80")
    answer = asked([link_stub("12.4", *archs), kernels], "61@550", tmp_path, policy)
    assert (answer.verdict, answer.causes, answer.fatbins.total) == ("fail", ("arch-missing",), 1)
    nothing = asked([link_stub("12.4", *archs)], "61@550", tmp_path / "alone", policy)
    assert (nothing.verdict, nothing.causes) == ("fail", ("cpu-flavour",))


def test_one_kernel_in_one_of_the_images_makes_it_a_unit(tmp_path: Path, policy: Policy) -> None:
    empty = ptxas("12.8", "sm_80", f".version {TOOLKITS['12.8'].ptx}\n.target sm_80\n.address_size 64\n")
    mixed = pack([Image("cubin", "80", empty), cubin_image("12.8", "k", "90")], "12.8")
    answer = asked([mixed], "75@570", tmp_path, policy)
    assert (answer.causes, answer.fatbins.total) == (("arch-missing",), 1)


KIND, NUMBER = 16, 16 + 28
"""Where the kind and the SM number of a container's first entry are."""


def changed(content: bytes, at: int, value: int, length: int) -> bytes:
    return content[:at] + value.to_bytes(length, "little") + content[at + length :]


def test_an_entry_that_lies_about_its_gpu_fails_where_the_driver_takes_it(tmp_path: Path, policy: Policy) -> None:
    """The driver chooses by the entry: code for sm_80 that says 90 is none for an A100 and damage for an H100.

    Errors as an H200 with driver 580.159.04 answers them (docs/evidence/h200-r580-questions.json).
    """
    lying = changed(container("12.8", "80"), NUMBER, 90, 4)
    for target, cause, error in (
        ("80@570", "arch-missing", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        ("90@570", "corrupt-input", "CUDA_ERROR_INVALID_SOURCE"),
    ):
        answer = asked([lying], target, tmp_path / cause, policy)
        assert (answer.verdict, answer.causes, answer.errors) == ("fail", (cause,), (error,))


def test_an_entry_that_lies_without_harm_loads(tmp_path: Path, policy: Policy) -> None:
    lying = changed(container("12.8", "80"), NUMBER, 86, 4)
    assert asked([lying], "86@570", tmp_path, policy).verdict == "pass"


@pytest.mark.parametrize("kind", [0, 4, 64, 512])
def test_a_kind_that_no_tool_writes_is_no_answer(kind: int, tmp_path: Path, policy: Policy) -> None:
    strange = changed(container("12.8", "80"), KIND, kind, 2)
    answer = asked([strange, container("12.8", "80 90")], "80@570", tmp_path, policy)
    assert (answer.verdict, answer.causes) == ("unknown", ("fatbin-kind",))
    served = changed(container("12.8", "80 90"), KIND, kind, 2)
    assert asked([served], "90@570", tmp_path / "served", policy).verdict == "pass"


def test_a_cubin_of_an_unknown_generation_is_no_answer(tmp_path: Path, policy: Policy) -> None:
    path = tmp_path / "k.cubin"
    path.write_bytes(changed(cubin_image("12.8", "k", "80").content, 7, 0x77, 1))
    (answer,) = run_audit([path], [policy.parse_target("80@570")], policy).targets
    assert (answer.verdict, answer.causes, answer.floor.reason) == ("unknown", ("cubin-abi",), "unknown")


def test_what_is_not_looked_into_is_told(tmp_path: Path, policy: Policy) -> None:
    build(Elf("libk.so", [container("12.8", "80")]), tmp_path / "b")
    (tmp_path / "b" / "more.rpm").write_bytes(b"\xed\xab\xee\xdb" + bytes(100))
    report = run_audit([tmp_path / "b"], [policy.parse_target("80@570")], policy)
    assert [note for note in report.notes if "more.rpm (rpm package)" in note]
