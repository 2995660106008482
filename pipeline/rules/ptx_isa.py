"""PTX that is newer than the driver's JIT compiler.

What: no cubin serves the GPU, so the driver compiles PTX; the PTX it takes is written in an ISA version that this
driver does not know. The driver takes the highest architecture the GPU can run and does not fall back to older PTX.

Why: minor version compatibility covers cubins only. Every toolkit writes its own PTX ISA version, so PTX needs the
driver branch of the toolkit that wrote it, or a newer one. Often one translation unit with a shorter arch list is
enough. Users see "the provided PTX was compiled with an unsupported toolchain" (222; before R450: 218).

Remedy: add the GPU's own cubin to the arch list (CMake: 90-real; nvcc: -gencode arch=compute_90,code=sm_90; torch:
TORCH_CUDA_ARCH_LIST=9.0), build with the floor's own toolkit, or raise the driver floor to the toolkit's branch.

Source: PTX ISA manual, release history; CUDA Compatibility, minor version compatibility; measured: the JIT compilers
of eight drivers, and an H200 on driver 580.159.04.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.policy.unknown import UnknownDriver
from pipeline.rules.device import Told, examine_device
from pipeline.rules.obstacle import Obstacle

if TYPE_CHECKING:
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.rules.subject import Aim, Examination, Subject
    from pipeline.rules.unit import Image

RULE = "ptx-isa"
_FIRST_WITH_ITS_OWN_ERROR = 450


def obstacle(image: Image, driver: DriverVersion, policy: Policy) -> Obstacle | None:
    """Whether the JIT of ``driver`` cannot read ``image``; ``UnknownDriver`` outside the tables."""
    newest = policy.max_ptx(driver)
    if image.ptx is None or image.ptx <= newest:
        return None
    old = driver.branch < _FIRST_WITH_ITS_OWN_ERROR
    error = "CUDA_ERROR_INVALID_PTX" if old else "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
    try:
        floor = policy.first_driver_with_ptx(image.ptx)
    except UnknownDriver:
        return Obstacle(RULE, error, f"{image.what}, newer than every driver of the tables of {policy.date}")
    return Obstacle(RULE, error, f"{image.what} needs driver >= {floor}; R{driver.branch} reads up to {newest}", floor)


def check(subject: Subject) -> Examination:
    """Every unit that would be compiled from PTX that the driver does not read."""
    return examine_device(subject, RULE, _told, examined=subject.entries)


def _told(aim: Aim, met: Obstacle) -> Told:
    raised = f", or raise the floor to {met.floor}" if met.floor else ""
    cubin = f"add a cubin for sm_{aim.target.sm} (CMake: {aim.target.sm}-real)"
    return Told(f"driver >= {aim.target.driver}", cubin + raised)
