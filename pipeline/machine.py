"""What this machine is, as far as evidence must say: platform, kernel, glibc and its NVIDIA GPUs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.model.evidence import Machine

if TYPE_CHECKING:
    from pathlib import Path

_QUERY = "name,uuid,compute_cap,driver_version"
_SMI_TIMEOUT = 20.0
_MODULE = re.compile(r"Kernel Module\b.*?\s(\d{3}(?:\.\d+){1,2})\s")
_MODEL = re.compile(r"^Model:\s*(.+?)\s*$", re.MULTILINE)
_LONGEST = 4096  # bytes of a file in /proc


@dataclass(frozen=True, slots=True)
class InstalledGpu:
    """One GPU as ``nvidia-smi`` reports it."""

    index: int
    name: str
    uuid: str
    sm: int
    driver: str

    @property
    def label(self) -> str:
        """The target it is: ``90@580.65.06``."""
        return f"{self.sm}@{self.driver}"


@dataclass(frozen=True, slots=True)
class KernelDriver:
    """The NVIDIA driver that the kernel has loaded, and the names of the boards that it runs."""

    version: str
    boards: tuple[str, ...]


def kernel_driver(folder: Path) -> KernelDriver | None:
    """Read ``/proc/driver/nvidia``, which containers see too; ``None`` where no driver is loaded.

    ``InfrastructureError`` where its files say something else than drivers are known to.
    """
    try:
        version = _read(folder / "version")
        models = [_read(file) for file in sorted(folder.glob("gpus/*/information"))]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InfrastructureError.of(error) from error
    loaded = _MODULE.search(version)
    boards = [_MODEL.search(model) for model in models]
    if loaded is None or None in boards:
        raise InfrastructureError(f"{folder} does not say which driver and boards these are")
    return KernelDriver(loaded[1], tuple(board[1] for board in boards if board is not None))


def _read(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as text:
        return text.read(_LONGEST)


def installed_gpus() -> tuple[InstalledGpu, ...]:
    """Ask ``nvidia-smi``; empty without the tool, ``InfrastructureError`` when it is there and fails."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    try:
        answer = subprocess.run(
            [tool, f"--query-gpu={_QUERY}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=_SMI_TIMEOUT,
            check=True,
        ).stdout
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(f"nvidia-smi did not answer in {_SMI_TIMEOUT:g} s") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise InfrastructureError("nvidia-smi is installed but fails: the driver is not working") from error
    return tuple(_gpu(index, line) for index, line in enumerate(answer.splitlines()) if line.strip())


def _gpu(index: int, line: str) -> InstalledGpu:
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != len(_QUERY.split(",")) or not fields[2].replace(".", "").isdigit():
        raise InfrastructureError(f"nvidia-smi answered something unexpected: {line!r}")
    name, uuid, capability, driver = fields
    return InstalledGpu(index, name, uuid, int(capability.replace(".", "")), driver)


def this_machine(*, engine: str, gpu: InstalledGpu | None = None, stand_in: str | None = None) -> Machine:
    """The record of where a check ran; without ``gpu`` its device is the CPU."""
    return Machine(
        platform=platform.machine(),
        kernel=platform.release(),
        glibc=_glibc(),
        device="cuda" if gpu else "cpu",
        engine=engine,
        gpu=gpu.name if gpu else None,
        uuid=gpu.uuid if gpu else None,
        sm=gpu.sm if gpu else None,
        driver=gpu.driver if gpu else None,
        stand_in=stand_in,
    )


def _glibc() -> str | None:
    """The C library's own word (``glibc 2.36``); ``None`` on another C library."""
    try:
        answer = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        return None
    return answer.removeprefix("glibc ") if answer else None
