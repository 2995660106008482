"""Damage on purpose changes one instruction, says NVIDIA's own disassembler; launches are written down."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from pipeline.binary import BufferView
from pipeline.formats.budgets import STANDARD
from pipeline.formats.payload import unpack
from pipeline.inventory import take_inventory
from tests import toolchain
from tests.fixture_server import builder
from tests.gpu import flips, launches

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipeline.formats.facts import FatbinFacts

pytestmark = pytest.mark.network

NVDISASM = "nvidia-cuda-nvdisasm==13.5.37"
SM_90 = "arch=compute_90,code=sm_90"
KERNEL = "_Z13scale_and_sumPKffiPf"
ADDRESS = re.compile(r"\s*/\*[0-9a-f]{4,}\*/")


def listing(server: bytes, folder: Path) -> dict[str, list[str]]:
    """Every kernel's instructions, without addresses."""
    (folder / "server").write_bytes(server)
    inventory = take_inventory(folder / "server")
    found: dict[str, list[str]] = {}
    for entry in largest(inventory.fatbins).entries:
        (folder / "k.cubin").write_bytes(unpack(BufferView(server), entry, STANDARD))
        (tool,) = toolchain.unpacked(NVDISASM).glob("**/bin/nvdisasm")
        for line in toolchain.run([tool, "-c", folder / "k.cubin"]).splitlines():
            if line.startswith(".text."):
                kernel = found.setdefault(line.strip(":").removeprefix(".text."), [])
            elif ADDRESS.match(line):
                kernel.append(" ".join(ADDRESS.sub("", line).split()))
    return found


@pytest.fixture(scope="module")
def server() -> bytes:
    return builder.cuda_server([SM_90], "--compress-mode=size").read_bytes()


def container(server: bytes, folder: Path) -> int:
    (folder / "server").write_bytes(server)
    return largest(take_inventory(folder / "server").fatbins).offset


def largest(fatbins: Iterable[FatbinFacts]) -> FatbinFacts:
    """Not the kernel-less one that the device linker leaves behind."""
    return max(fatbins, key=lambda fatbin: fatbin.size)


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (flips.Change.OTHER_REGISTER, r"F(ADD|MUL|FMA) R(\d+),.*", r"F(ADD|MUL|FMA) R(\d+),.*"),
        (flips.Change.OTHER_GUARD, r"@!?P\d (EXIT|BRA) .*", r"@!?P\d (EXIT|BRA) .*"),
    ],
)
def test_one_instruction_is_another(
    server: bytes, tmp_path: Path, change: flips.Change, before: str, after: str
) -> None:
    damaged, flip = flips.flipped(server, container(server, tmp_path), KERNEL, change)
    assert len(damaged) == len(server)
    whole, hurt = listing(server, tmp_path), listing(damaged, tmp_path)
    assert {name for name, lines in whole.items() if lines != hurt[name]} == {KERNEL}
    (where,) = [at for at, pair in enumerate(zip(whole[KERNEL], hurt[KERNEL], strict=True)) if pair[0] != pair[1]]
    assert where * 16 == flip.at
    assert re.fullmatch(before, whole[KERNEL][where])
    assert re.fullmatch(after, hurt[KERNEL][where])


def test_a_store_is_lost(server: bytes, tmp_path: Path) -> None:
    kernel = "_Z10unscramblePciPKf"
    damaged, flip = flips.flipped(server, container(server, tmp_path), kernel, flips.Change.LOST_STORE)
    assert listing(server, tmp_path)[kernel][flip.at // 16].startswith("STG")
    assert listing(damaged, tmp_path)[kernel][flip.at // 16] == "NOP ;"


def test_what_is_no_instruction_is_none_to_the_disassembler_either(server: bytes, tmp_path: Path) -> None:
    damaged, flip = flips.flipped(server, container(server, tmp_path), KERNEL, flips.Change.NOT_CODE)
    assert flip.at < 8 * 16
    with pytest.raises(toolchain.ToolFailed):
        listing(damaged, tmp_path)


def test_a_kernel_without_such_an_instruction(server: bytes, tmp_path: Path) -> None:
    with pytest.raises(flips.DoesNotFit):
        flips.flipped(server, container(server, tmp_path), "no_such_kernel", flips.Change.NOT_CODE)


def test_the_healthy_twin_is_repacked_and_says_the_same(server: bytes, tmp_path: Path) -> None:
    twin = flips.repacked(server, container(server, tmp_path))
    assert listing(twin, tmp_path) == listing(server, tmp_path)


def test_every_entry_gets_another_sm(server: bytes, tmp_path: Path) -> None:
    other, count = flips.with_other_sm(server, 89)
    (tmp_path / "other").write_bytes(other)
    archs = [str(entry.arch) for fatbin in take_inventory(tmp_path / "other").fatbins for entry in fatbin.entries]
    assert archs == ["sm_89"] * count
    assert count


PROGRAM = """
#include <cstdio>
__global__ void first(int *x) { *x = 1; }
template <int N> __global__ void second(int *x) { *x = N; }
__global__ void never(int *x) { *x = 3; }
int main(int count, char **) {
    first<<<1, 1>>>(nullptr);
    second<7><<<1, 1>>>(nullptr);
    if (count > 3) never<<<1, 1>>>(nullptr);
    second<7><<<1, 1>>>(nullptr);
}
"""


def test_launches_are_written_down_with_their_container(tmp_path: Path) -> None:
    """Without a GPU every launch fails, and is one all the same."""
    home = builder.cuda_home()
    (tmp_path / "libcudart.so").symlink_to(home / "lib" / "libcudart.so.13")
    (tmp_path / "libcudart.so.13").symlink_to(home / "lib" / "libcudart.so.13")
    (tmp_path / "k.cu").write_text(PROGRAM)
    program = tmp_path / "k"
    nvcc: list[str | Path] = [home / "bin" / "nvcc", "-arch=sm_90", "-cudart", "shared", "-L", tmp_path]
    toolchain.run([*nvcc, tmp_path / "k.cu", "-o", program])
    launches.build(tmp_path / "launches.so")
    log = tmp_path / "log"
    told = {"LD_PRELOAD": str(tmp_path / "launches.so"), "LAUNCHES": str(log), "LD_LIBRARY_PATH": str(tmp_path)}
    subprocess.run([program], env={**os.environ, **told}, check=True)
    found = launches.launched(log, program.read_bytes())
    assert [launch.kernel for launch in found] == ["_Z5firstPi", "_Z6secondILi7EEvPi"]
    assert {launch.container for launch in found} <= {fatbin.offset for fatbin in take_inventory(program).fatbins}
