"""What this machine is, as far as evidence must say: platform, kernel, glibc and its NVIDIA GPUs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass

from pipeline.errors import InfrastructureError
from pipeline.model.evidence import Machine

_QUERY = "name,uuid,compute_cap,driver_version"
_SMI_TIMEOUT = 20.0


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
