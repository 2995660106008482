from __future__ import annotations

import pytest

from pipeline.errors import InfrastructureError, UsageError
from pipeline.machine import InstalledGpu
from pipeline.serve.device import find_device

A30 = InstalledGpu(0, "A30", "GPU-aaaa", 80, "535.288.01")
H200 = InstalledGpu(1, "H200", "GPU-bbbb", 90, "535.288.01")


def none_asked() -> tuple[InstalledGpu, ...]:
    raise AssertionError("the CPU needs no look at the GPUs")


def test_the_cpu_is_no_gpu() -> None:
    assert find_device("cpu", none_asked) is None


@pytest.mark.parametrize(
    ("asked", "found"), [("cuda", A30), ("cuda:0", A30), ("cuda:1", H200), ("GPU-aaaa", A30), ("GPU-bbbb", H200)]
)
def test_a_gpu_is_found_by_number_and_by_uuid(asked: str, found: InstalledGpu) -> None:
    assert find_device(asked, lambda: (A30, H200)) == found


def test_a_mig_instance_is_of_the_only_gpu() -> None:
    found = find_device("MIG-1234", lambda: (H200,))
    assert found is not None
    assert (found.uuid, found.sm) == ("MIG-1234", 90)
    with pytest.raises(InfrastructureError, match="not on this machine"):
        find_device("MIG-1234", lambda: (A30, H200))


@pytest.mark.parametrize("asked", ["cuda", "cuda:2", "GPU-cccc"])
def test_a_gpu_that_is_not_there_is_infrastructure(asked: str) -> None:
    with pytest.raises(InfrastructureError, match="no working NVIDIA GPU"):
        find_device(asked, lambda: ())
    if asked != "cuda":
        with pytest.raises(InfrastructureError, match="not on this machine"):
            find_device(asked, lambda: (A30, H200))


@pytest.mark.parametrize("asked", ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "CUDA0", "1"])
def test_nonsense_is_a_usage_error(asked: str) -> None:
    with pytest.raises(UsageError):
        find_device(asked, none_asked)
