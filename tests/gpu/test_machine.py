"""What is recorded of the machine: versions, shadowing, and no UUID in the clear."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError
from pipeline.gpu.greeting import DeviceFacts, Greeting
from pipeline.gpu.machine import LoadMachine, describe, libcuda_version, module_version
from pipeline.model.evidence import hashed
from pipeline.model.versions import DriverVersion

if TYPE_CHECKING:
    from pathlib import Path

DEVICE = DeviceFacts(0, "NVIDIA H200", 90, "GPU-1234", "", 1 << 37)
MODULE = DriverVersion("580.159.04")


def machine(libcuda: str, module: DriverVersion | None = MODULE, device: DeviceFacts = DEVICE) -> LoadMachine:
    return describe(Greeting(libcuda, 13000, (device,)), device, module)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.288.01  Mon Jan 1\nGCC version: 12.2.0", "535.288.01"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (a@b)\n", "580.159.04"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82  Fri\n", "470.82"),
    ],
)  # fmt: skip
def test_the_kernel_modules_version(tmp_path: Path, text: str, version: str) -> None:
    (tmp_path / "version").write_text(text)
    assert module_version(tmp_path / "version") == DriverVersion(version)


def test_a_kernel_that_does_not_say(tmp_path: Path) -> None:
    assert module_version(tmp_path / "nowhere") is None
    (tmp_path / "version").write_text("NVRM version: none\n")
    assert module_version(tmp_path / "version") is None


def test_the_version_in_a_librarys_name() -> None:
    assert libcuda_version("/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04") == MODULE
    assert libcuda_version("/usr/lib/wsl/lib/libcuda.so.1") is None


def test_the_drivers_own_library_is_no_shadow() -> None:
    found = machine("/usr/lib/libcuda.so.580.159.04")
    assert not found.shadowed
    assert found.label == "90@580.159.04"


@pytest.mark.parametrize(
    ("libcuda", "driver"),
    [
        ("/usr/local/cuda-13.4/compat/libcuda.so.615.10.01", "615.10.01"),
        ("/opt/somewhere/libcuda.so.615.10.01", "615.10.01"),
        ("/usr/local/cuda/compat/libcuda.so.1", "580.159.04"),
    ],
)
def test_forward_compatibility_is_told_and_its_limits_hold(libcuda: str, driver: str) -> None:
    found = machine(libcuda)
    assert found.shadowed
    assert found.driver == DriverVersion(driver)
    assert found.to_json()["kernel_module"] == "580.159.04"


def test_a_driver_without_a_version_is_not_guessed() -> None:
    assert machine("/usr/lib/libcuda.so.1").driver == MODULE
    with pytest.raises(InfrastructureError, match="nothing tells the version"):
        machine("/usr/lib/libcuda.so.1", None)


def test_a_report_does_not_name_the_card() -> None:
    text = json.dumps(machine("/usr/lib/libcuda.so.580.159.04").to_json())
    assert "GPU-1234" not in text
    assert hashed("GPU-1234") in text


def test_a_mig_slice() -> None:
    part = DeviceFacts(0, "NVIDIA A100-SXM4-40GB MIG 1g.5gb", 80, "GPU-1", "MIG-2", 5 << 30)
    found = machine("/usr/lib/libcuda.so.580.159.04", device=part)
    assert (found.mig_profile, found.uuid) == ("1g.5gb", "MIG-2")
