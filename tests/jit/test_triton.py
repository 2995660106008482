"""Triton kernels for GPUs that are not here: the scoped atomics that it always emits, and tiles by GPU."""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING

import pytest

from tests import toolchain
from tests.jit.made import compiled, said, verdicts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(sys.version_info[:2] > (3, 14), reason="triton 3.5.1 has no wheel for this Python"),
]
KERNELS = """
import torch
import triton
import triton.language as tl


@triton.jit
def total(source, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(source + at, mask=at < count, other=0.0)))


@triton.jit
def double(source, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(source + at, mask=at < count, other=0.0) * 2, mask=at < count)


@triton.jit
def turn(source, out, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    at = rows[:, None] * BLOCK + rows[None, :]
    tl.store(out + at, tl.trans(tl.load(source + at)))


@triton.jit
def broken(source, out, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(source + at) + tl.arange(0, 2 * BLOCK))


def launch(source):
    return torch.empty_like(source)
"""
STREAM = 'signature: {source: "*fp32", out: "*fp32", count: i32, BLOCK: constexpr}, constants: {BLOCK: "128"}'


@pytest.fixture(scope="module")
def wheel() -> str:
    """The ``sources`` entry of the Triton for this Python."""
    path = toolchain.wheel("triton==3.5.1")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f'  triton: {{wheel: triton, version: "3.5.1", filename: {path.name}, sha256: "{digest}"}}\n'


def source(entry: str, more: str = STREAM) -> str:
    return f"language: triton, files: [kernels.py], triton: triton, entry: {entry}, stubs: [torch], {more}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path


def test_an_atomic_is_scoped_and_pascal_has_no_scopes(folder: Path, wheel: str) -> None:
    report = compiled(folder, source("total"), "61@535, 75@535", sources=wheel)
    assert verdicts(report) == {"61@535.54.03": "fail", "75@535.54.03": "pass"}
    (found,) = said(report, "jit-feature")
    assert found.startswith("kernels.py:10: ")
    assert "acq_rel" in found
    assert "sm_70 is the first that has it" in found
    assert "get_device_capability() >= (7, 0)" in found


def test_a_kernel_without_atomics_serves_pascal(folder: Path, wheel: str) -> None:
    report = compiled(folder, source("double"), "61@535, 75@535", sources=wheel)
    assert set(verdicts(report).values()) == {"pass"}
    assert report.compilations[0].toolkit is not None


def test_the_assembler_can_be_a_toolkits(folder: Path, wheel: str) -> None:
    report = compiled(folder, source("double", f'{STREAM}, toolkits: ["12.6"]'), "61@535", sources=wheel)
    assert set(verdicts(report).values()) == {"pass"}
    assert report.compilations[0].compiler == "Triton 3.5.1, ptxas 12.6.85"


def test_what_triton_itself_refuses_is_told_with_its_line(folder: Path, wheel: str) -> None:
    report = compiled(folder, source("broken"), "75@535", sources=wheel)
    (found,) = said(report, "jit-compile")
    assert found.startswith("kernels.py:29: ")


def test_a_module_that_is_not_there_is_told(folder: Path, wheel: str) -> None:
    text = source("double").replace("stubs: [torch], ", "")
    assert "No module named 'torch'" in said(compiled(folder, text, "75@535", sources=wheel), "jit-compile")[0]


def test_a_tile_is_held_against_each_gpu_by_tritons_own_number(folder: Path, wheel: str) -> None:
    tile = 'signature: {source: "*fp32", out: "*fp32", BLOCK: constexpr}, constants: {BLOCK: "SIZE"}'
    large = compiled(folder, source("turn", tile.replace("SIZE", "128")), "61@535, 75@535", sources=wheel)
    assert verdicts(large) == {"61@535.54.03": "fail", "75@535.54.03": "pass"}
    (found,) = said(large, "dynamic-shared-memory")
    assert "turn needs 65536 bytes" in found
    assert "at most 49152 on sm_61" in found
    small = compiled(folder, source("turn", tile.replace("SIZE", "64")), "61@535, 75@535", sources=wheel)
    assert set(verdicts(small).values()) == {"pass"}
