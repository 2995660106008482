"""Kernels by name: what ptxas wrote is read back, hostile tables and names are refused or shown as they are."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from pipeline.binary import BufferView, FormatError
from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.formats.demangle import demangled, group_of
from pipeline.formats.elf import read_elf
from pipeline.formats.facts import KernelFacts
from pipeline.formats.kernels import KernelNames, cubin_kernels
from pipeline.formats.ptx_entries import ptx_kernels
from tests.toolchain import TOOLKITS, ptxas

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
    assert found == (KernelFacts("bounded", None, 4096, 256), KernelFacts("plain", None, 0, None))


def test_shared_memory_of_ptx_is_counted_where_it_is_used() -> None:
    text = (
        b".version 8.0\n.target sm_80\n.shared .align 8 .f64 table[4][8];\n.extern .shared .align 16 .b8 dynamic[];\n"
        b".shared .b8 nobody[70000];\n.visible .entry first()\n{ .shared .b8 odd[3]; mov.u32 %r1, table;\n"
        b" ld.shared.v2.u32 {%r2, %r3}, [table]; { .shared .u32 one; } ret; }\n.entry second() .reqntid 128 { ret; }\n"
    )
    found = ptx_kernels(text, KernelNames(STANDARD))
    assert found == (KernelFacts("first", None, 264, None), KernelFacts("second", None, 0, 128, exact=True))


@pytest.mark.parametrize(
    "unit", [b".entry a ", b"/*", b"//", b".shared .b8 a;", b".entry a{.shared .b8 a[9][9];", b"{"]
)
def test_hostile_text_is_read_or_refused_in_linear_time(unit: bytes) -> None:
    start = time.monotonic()
    with suppress(FormatError):
        ptx_kernels(b".entry k() {}" + unit * (4_000_000 // len(unit)), KernelNames(STANDARD))
    assert time.monotonic() - start < 4


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
