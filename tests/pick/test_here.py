"""What a machine says of itself: by nvidia-smi, by the kernel where that is missing or fails, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError
from pipeline.pick.here import gpus_here, host_alone
from pipeline.policy import load_policy

if TYPE_CHECKING:
    from pathlib import Path

PROPRIETARY = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: 12\n"
)
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U22)\n"


def proc(folder: Path, version: str, *boards: str) -> Path:
    """A ``/proc/driver/nvidia`` with these boards."""
    for index, board in enumerate(boards):
        gpu = folder / "gpus" / f"0000:0{index}:00.0"
        gpu.mkdir(parents=True)
        (gpu / "information").write_text(f"Model: \t\t {board}\nIRQ:   \t\t 11\nGPU UUID: \t GPU-1\n")
    (folder / "version").write_text(version)
    return folder


def tool(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """An ``nvidia-smi`` that runs ``script``, the only program on the path."""
    folder.mkdir()
    smi = folder / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\n{script}\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def seen(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    gpus, notes = gpus_here(folder, load_policy)
    return [gpu.label for gpu in gpus], notes


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No ``nvidia-smi`` anywhere."""
    monkeypatch.setenv("PATH", str(tmp_path / "no"))
    return tmp_path / "proc"


def test_no_driver_is_no_gpu(nothing: Path) -> None:
    assert seen(nothing) == ([], ())


def test_a_driver_without_a_gpu_is_no_gpu(nothing: Path) -> None:
    nothing.mkdir()
    assert seen(proc(nothing, OPEN)) == ([], ())


@pytest.mark.parametrize(
    ("version", "board", "label"),
    [
        (PROPRIETARY, "NVIDIA A100-SXM4-80GB", "80@535.104.05"),
        (PROPRIETARY, "NVIDIA A10", "86@535.104.05"),
        (OPEN, "NVIDIA H100 80GB HBM3", "90@580.65.06"),
        (OPEN, "NVIDIA GeForce RTX 4090", "89@580.65.06"),
        (PROPRIETARY, "NVIDIA GeForce GTX 1080 Ti", "61@535.104.05"),
    ],
)
def test_the_kernel_names_driver_and_board(nothing: Path, version: str, board: str, label: str) -> None:
    nothing.mkdir()
    labels, notes = seen(proc(nothing, version, board, board))
    assert labels == [label, label]
    assert notes == ("no nvidia-smi: driver and boards as the kernel names them",)


def test_a_board_that_no_table_has_must_be_named(nothing: Path) -> None:
    nothing.mkdir()
    with pytest.raises(InfrastructureError, match=r"NVIDIA Unheard.*--target"):
        seen(proc(nothing, OPEN, "NVIDIA Unheard 9000"))


def test_rubbish_from_the_kernel_is_no_answer(nothing: Path) -> None:
    nothing.mkdir()
    with pytest.raises(InfrastructureError, match="does not say which driver"):
        seen(proc(nothing, "hello"))


def test_nvidia_smi_is_asked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["NVIDIA A30, GPU-1, 8.0, 535.288.01", "NVIDIA GeForce GTX 1080 Ti, GPU-2, 6.1, 535.288.01"]
    tool(tmp_path / "bin", monkeypatch, "\n".join(f"echo '{line}'" for line in lines))
    assert seen(tmp_path / "proc") == (["80@535.288.01", "61@535.288.01"], ())


@pytest.mark.parametrize("script", ["exit 9", "echo 'NVIDIA A30, GPU-1, [N/A], 535.104.05'", "echo 'No devices'"])
def test_the_kernel_answers_where_nvidia_smi_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    tool(tmp_path / "bin", monkeypatch, script)
    with pytest.raises(InfrastructureError, match="--target"):
        seen(tmp_path / "proc")
    (tmp_path / "proc").mkdir()
    labels, notes = seen(proc(tmp_path / "proc", PROPRIETARY, "NVIDIA A30"))
    assert labels == ["80@535.104.05"]
    assert notes[0].startswith("nvidia-smi ")


def test_this_machine_has_a_platform_and_a_c_library() -> None:
    host = host_alone()
    assert host.platform in {"x86_64", "aarch64"}
    assert host.glibc is not None
