from __future__ import annotations

import pytest

from pipeline.binary import BufferView, FormatError
from pipeline.formats.budgets import STANDARD
from pipeline.formats.cubin import read_cubin
from tests.toolchain import cubin, kernel_ptx, ptxas

pytestmark = pytest.mark.network


@pytest.mark.parametrize(
    ("toolkit", "arch", "os_abi", "abi", "number"),
    [
        ("11.8", "80", 0x33, 7, 118),
        ("12.8", "90", 0x33, 7, 128),
        ("12.8", "90a", 0x33, 7, 128),
        ("12.8", "100a", 0x41, 8, 128),
        ("12.8", "120", 0x41, 8, 128),
        ("13.0", "75", 0x41, 8, 130),
        ("13.0", "90a", 0x41, 8, 130),
        ("13.5", "103a", 0x41, 8, 135),
    ],
)
def test_both_abi_generations(toolkit: str, arch: str, os_abi: int, abi: int, number: int) -> None:
    facts = read_cubin(BufferView(cubin(toolkit, "scale", arch)), STANDARD)
    assert (str(facts.arch), facts.os_abi, facts.abi, facts.toolkit) == (f"sm_{arch}", os_abi, abi, number)
    assert (facts.kernels, facts.relocatable) == (1, False)


def test_an_image_without_kernels_is_counted_as_such() -> None:
    empty = ptxas("13.0", "sm_75", ".version 9.0\n.target sm_75\n.address_size 64\n")
    assert read_cubin(BufferView(empty), STANDARD).kernels == 0


def test_kernels_are_counted() -> None:
    two = kernel_ptx("one", "9.0", "sm_80") + kernel_ptx("two", "9.0", "sm_80").partition(".address_size 64\n")[2]
    assert read_cubin(BufferView(ptxas("13.0", "sm_80", two)), STANDARD).kernels == 2


def test_an_unknown_abi_names_no_architecture() -> None:
    changed = bytearray(cubin("13.0", "scale", "80"))
    changed[7:9] = b"\x55\x09"
    facts = read_cubin(BufferView(bytes(changed)), STANDARD)
    assert (facts.arch, facts.os_abi, facts.abi) == (None, 0x55, 9)


def test_a_host_file_is_no_cubin() -> None:
    changed = bytearray(cubin("13.0", "scale", "80"))
    changed[18:20] = b"\x3e\x00"
    with pytest.raises(FormatError, match="machine 62"):
        read_cubin(BufferView(bytes(changed)), STANDARD)
