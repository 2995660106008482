"""Which device, which driver: found, refused with a reason, or explained as absent."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError, UsageError
from pipeline.gpu.device import Selector
from pipeline.gpu.load import load_modules
from pipeline.gpu.settings import Limits
from tests.gpu import made
from tests.gpu.standin import dashed
from tests.gpu.test_load import NATIVE, native, settings

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.gpu.report import LoadReport
    from tests.gpu.conftest import GetPolicy
    from tests.gpu.standin import StandIn

A, B, SLICE, OTHER_SLICE = "aa" * 16, "bb" * 16, "cc" * 16, "dd" * 16
TWO = f"NVIDIA A100|80|{A}|{A};NVIDIA H100|90|{B}|{B}"
MIG = f"NVIDIA A100 MIG 1g.5gb|80|{A}|{SLICE};NVIDIA A100 MIG 2g.10gb|80|{A}|{OTHER_SLICE}"


def load(driver: StandIn, tmp_path: Path, policy: GetPolicy, device: str = "0", **limits: float) -> LoadReport:
    images = [native(driver), driver.answers(made.fatbin(made.cubin("80")), *NATIVE)]
    file = made.library(tmp_path / "lib.so", images)
    chosen = replace(settings(driver, limits=Limits(**limits)), selector=Selector.parse(device))
    return load_modules(file, policy, chosen)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("34", ("CUDA_ERROR_STUB_LIBRARY", "lib/stubs")),
        ("100", ("CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES")),
        ("803", ("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "compat folder")),
        ("804", ("CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "data-centre")),
    ],
)
@pytest.mark.parametrize("nameless", [False, True])
def test_a_driver_that_does_not_start_is_explained(
    driver: StandIn, tmp_path: Path, policy: GetPolicy, answer: str, words: tuple[str, str], *, nameless: bool
) -> None:
    driver.more["STANDIN_INIT"] = answer
    if nameless:
        driver.more["STANDIN_NAMELESS"] = "1"
    with pytest.raises(InfrastructureError, match=f"cuInit answers {words[0]}") as caught:
        load(driver, tmp_path, policy)
    assert words[1] in str(caught.value)
    assert str(driver.library) in str(caught.value)


@pytest.mark.parametrize(("does", "words"), [("crash", "SIGSEGV"), ("hang", "does not start in 0.5 s")])
def test_a_driver_that_crashes_or_hangs_at_its_start(
    driver: StandIn, tmp_path: Path, policy: GetPolicy, does: str, words: str
) -> None:
    driver.more["STANDIN_INIT_DOES"] = does
    with pytest.raises(InfrastructureError, match=words):
        load(driver, tmp_path, policy, start=0.5)


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.skipif(has_driver(), reason="this machine has a driver")
def test_no_driver_at_all(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    driver.more["LD_LIBRARY_PATH"] = str(tmp_path)
    with pytest.raises(InfrastructureError, match="no NVIDIA driver on this machine") as caught:
        load(driver, tmp_path, policy)
    assert "audit --target" in str(caught.value)


def test_by_index(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    driver.more["STANDIN_DEVICES"] = TWO
    assert load(driver, tmp_path, policy).machine.sm == 80
    assert load(driver, tmp_path, policy, "1").machine.sm == 90
    assert load(driver, tmp_path, policy, "cuda:1").machine.visible == 2


def test_by_uuid(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    driver.more["STANDIN_DEVICES"] = TWO
    machine = load(driver, tmp_path, policy, dashed("GPU", B)).machine
    assert (machine.sm, machine.visible) == (90, 1)
    assert load(driver, tmp_path, policy, dashed("GPU", B)[:10]).machine.sm == 90


@pytest.mark.parametrize("device", ["7", dashed("GPU", "ee" * 16), dashed("MIG", "ee" * 16)])
def test_a_device_that_is_not_here(driver: StandIn, tmp_path: Path, policy: GetPolicy, device: str) -> None:
    with pytest.raises(InfrastructureError, match=f"--device {device}"):
        load(driver, tmp_path, policy, device)


def test_hidden_by_the_callers_variable(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    driver.more["CUDA_VISIBLE_DEVICES"] = ""
    with pytest.raises(InfrastructureError, match="CUDA_ERROR_NO_DEVICE"):
        load(driver, tmp_path, policy)


def test_a_mig_slice_by_its_uuid(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    driver.more["STANDIN_DEVICES"] = MIG
    machine = load(driver, tmp_path, policy, dashed("MIG", OTHER_SLICE)).machine
    assert machine.mig_profile == "2g.10gb"
    assert machine.uuid == dashed("MIG", OTHER_SLICE)


def test_the_parent_of_mig_slices_is_no_device(driver: StandIn, tmp_path: Path, policy: GetPolicy) -> None:
    driver.more["STANDIN_DEVICES"] = MIG
    with pytest.raises(InfrastructureError, match="divided by MIG") as caught:
        load(driver, tmp_path, policy, dashed("GPU", A))
    assert dashed("MIG", SLICE) in str(caught.value)


@pytest.mark.parametrize("text", ["", "x", "-1", "cuda", "cuda:x", "GPU-", "1,2", "GPU-aaaa,GPU-bbbb", "99999"])
def test_what_names_no_device(text: str) -> None:
    with pytest.raises(UsageError):
        Selector.parse(text)
