"""This machine: its platform, C library, and GPUs with their driver, without any library of NVIDIA's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.machine import installed_gpus, kernel_driver, this_machine
from pipeline.model.paths import printable
from pipeline.model.target import Platform
from pipeline.model.versions import DriverVersion, GlibcVersion
from pipeline.pick.host import Host, HostGpu

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.policy import Policy

_PLATFORMS = {"x86_64": Platform.X86_64, "aarch64": Platform.AARCH64}
_REMEDY = "give --target SM@DRIVER, such as 80@535.288.01"
PROC = "/proc/driver/nvidia"


def host_alone() -> Host:
    """The machine without its GPUs."""
    machine = this_machine(engine="none")
    glibc = GlibcVersion(machine.glibc) if machine.glibc is not None else None
    return Host(_PLATFORMS.get(machine.platform, machine.platform), glibc, ())


def gpus_here(proc: Path, policy: Callable[[], Policy]) -> tuple[tuple[HostGpu, ...], tuple[str, ...]]:
    """The GPUs and how they were found: ``nvidia-smi`` is asked, then the kernel's driver by its files in ``proc``.

    ``policy`` tells the SM of a board by its name. ``InfrastructureError`` where there is a driver or a GPU that
    cannot be told.
    """
    try:
        gpus = installed_gpus()
    except InfrastructureError as error:
        if kernel_driver(proc) is None:
            raise InfrastructureError(error.message, remedy=_REMEDY) from error
        return _by_kernel(proc, policy), (f"{error.message}: driver and boards as the kernel names them",)
    if gpus:
        return tuple(HostGpu(gpu.sm, _version(gpu.driver), printable(gpu.name)) for gpu in gpus), ()
    found = _by_kernel(proc, policy)
    return found, ("no nvidia-smi: driver and boards as the kernel names them",) if found else ()


def _by_kernel(proc: Path, policy: Callable[[], Policy]) -> tuple[HostGpu, ...]:
    driver = kernel_driver(proc)
    if driver is None:
        return ()
    return tuple(
        HostGpu(_sm_of(board, policy()), _version(driver.version), printable(board)) for board in driver.boards
    )


def _version(text: str) -> DriverVersion:
    try:
        return DriverVersion(text)
    except ValueError as error:
        raise InfrastructureError(f"the driver calls itself {text[:40]!r}", remedy=_REMEDY) from error


def _sm_of(board: str, policy: Policy) -> int:
    """The SM of the product whose name is in the board's, the longest where several are."""
    named = [
        (len(product), row.gpu.number)
        for row in policy.gpus
        for product in row.products
        if re.search(rf"\b{re.escape(product)}\b", board)
    ]
    if not named:
        raise InfrastructureError(f"no nvidia-smi to ask, and no table has the SM of {board!r}", remedy=_REMEDY)
    return max(named)[1]
