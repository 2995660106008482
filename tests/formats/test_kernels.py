"""Kernels by name: what ptxas wrote is read back, hostile tables and names are refused or shown as they are."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from pipeline.binary import BufferView, FormatError
from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.formats.demangle import demangled, group_of
from pipeline.formats.elf import read_elf
from pipeline.formats.kernels import KernelNames, cubin_kernels, ptx_kernels
from tests.toolchain import TOOLKITS, ptxas

if TYPE_CHECKING:
    from pipeline.formats.facts import KernelFacts

QUANTIZE = "_Z18kQuantizeBlockwiseI6__halfLi64ELi2EEvPfPT_S1_PhS1_ii"


def two_kernels(toolkit: str, arch: str) -> str:
    return (
        f".version {TOOLKITS[toolkit].ptx}\n.target sm_{arch}\n.address_size 64\n"
        "// .visible .entry not_this()\n/* .entry nor_that() */\n"
        ".visible .entry plain(.param .u64 p) { ret; }\n"
        ".visible .entry bounded(.param .u64 p)\n.maxntid 64, 4, 1\n{\n"
        " .reg .b32 %r<4>; .reg .b64 %rd<3>;\n .shared .align 16 .b8 buf[4096];\n"
        " ld.param.u64 %rd1,[p]; cvta.to.global.u64 %rd2,%rd1; mov.u32 %r1,%tid.x; mov.u32 %r2,buf;\n"
        " st.shared.u32 [%r2],%r1; bar.sync 0; ld.shared.u32 %r3,[%r2+4]; st.global.u32 [%rd2],%r3; ret;\n}\n"
    )


def kernels_of(cubin: bytes, budgets: Budgets = STANDARD) -> dict[str, KernelFacts]:
    found = cubin_kernels(read_elf(BufferView(cubin), budgets), KernelNames(budgets))
    return {kernel.name: kernel for kernel in found}


@pytest.mark.network
@pytest.mark.parametrize(
    ("toolkit", "arch", "reserved"),
    [("11.8", "80", 0), ("12.8", "89", 0), ("12.8", "90a", 1024), ("12.8", "100", 1024), ("13.5", "120", 1024)],
)
def test_what_ptxas_wrote_is_read_back(toolkit: str, arch: str, reserved: int) -> None:
    found = kernels_of(ptxas(toolkit, f"sm_{arch}", two_kernels(toolkit, arch)))
    assert list(found) == ["bounded", "plain"]
    assert found["bounded"].static_shared == 4096 + reserved
    assert found["bounded"].threads == 256
    assert found["plain"].threads is None
    assert all(kernel.registers for kernel in found.values())


@pytest.mark.network
@pytest.mark.parametrize("budgets", [Budgets(kernels=1), Budgets(kernel_names=8), Budgets(name=4)])
def test_more_than_the_limits_allow_is_damage(budgets: Budgets) -> None:
    with pytest.raises(FormatError):
        kernels_of(ptxas("12.8", "sm_80", two_kernels("12.8", "80")), budgets)


def test_entries_of_ptx_are_found_and_comments_are_not() -> None:
    found = ptx_kernels(two_kernels("12.8", "80").encode(), KernelNames(STANDARD))
    assert [kernel.name for kernel in found] == ["bounded", "plain"]


def test_names_are_demangled_and_grouped() -> None:
    assert demangled(QUANTIZE).startswith("void kQuantizeBlockwise<__half, 64, 2>(")
    assert group_of(QUANTIZE) == "kQuantizeBlockwise"
    assert group_of("_ZN3cub37CUB_200200_600_700_750_800_860_900_NS6detail11EmptyKernelIvEEvv") == (
        "cub::detail::EmptyKernel"
    )
    long_name = "_ZN7cutlass13device_kernelI" + 5000 * "1A" + "EEvv"
    assert group_of(long_name) == "cutlass::device_kernel"
    assert demangled("mul_mat") == group_of("mul_mat") == "mul_mat"


def doubling(levels: int) -> str:
    name, last, count = "_Z1f1A", "S_", 1
    for level in range(levels):
        word = f"T{chr(97 + level % 26)}{level}"
        name += f"{len(word)}{word}I{last}{last}E"
        digits, number = "", count
        while True:
            digits, number = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36] + digits, number // 36
            if not number:
                break
        last, count = f"S{digits}_", count + 2
    return name


@pytest.mark.parametrize(
    "name",
    ["_Z1f" + 60_000 * "P" + "i", "_Z1f" + 9_000 * "4pairI" + "i" + 9_000 * "E", doubling(60), "_Z", "_ZN", "_ZN9999f"],
    ids=["pointers", "nesting", "doubling", "nothing", "no name", "beyond the end"],
)
def test_hostile_names_cost_nothing(name: str) -> None:
    start = time.monotonic()
    assert len(demangled(name)) <= max(len(name), 1 << 20)
    assert group_of(name)
    assert time.monotonic() - start < 1
