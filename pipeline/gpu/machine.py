"""What machine a load was seen on: the GPU, its driver, and the libcuda that really answered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import InfrastructureError
from pipeline.machine import installed_gpus
from pipeline.model.evidence import hashed
from pipeline.model.versions import DriverVersion

if TYPE_CHECKING:
    from pipeline.gpu.greeting import DeviceFacts, Greeting

MODULE = Path("/proc/driver/nvidia/version")
_VERSION = re.compile(r"(?<![0-9.])[1-9][0-9]{2}\.[0-9]{1,3}(?:\.[0-9]{1,3})?(?![0-9.])")
_LIBCUDA = re.compile(r"libcuda\.so\.([1-9][0-9]{2}\.[0-9]+(?:\.[0-9]+)?)")
_CONTAINERS = (Path("/.dockerenv"), Path("/run/.containerenv"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadMachine:
    """Where modules were loaded.

    ``driver`` is the version whose limits hold: libcuda's own, which reads the images, where its file has one in its
    name, else the kernel module's. ``module`` and ``libcuda_version`` are ``None`` where nothing tells them.
    ``shadowed`` says that a libcuda of another version than the kernel module's (forward compatibility) answered.
    ``visible`` counts the devices that this process sees. ``uuid`` is in the clear: reports show its digest.
    """

    gpu: str
    sm: int
    uuid: str
    mig_profile: str | None
    memory: int
    visible: int
    driver: DriverVersion
    module: DriverVersion | None
    libcuda: str
    libcuda_version: DriverVersion | None
    cuda: str
    shadowed: bool
    container: bool

    @property
    def label(self) -> str:
        """The target that this is: ``90@580.65.06``."""
        return f"{self.sm}@{self.driver}"

    def to_json(self) -> dict[str, Any]:
        """The contract's ``machine``; the UUID as a digest, so that reports can be shared."""
        return {
            "gpu": self.gpu,
            "sm": str(self.sm),
            "uuid_sha256": hashed(self.uuid),
            "mig_profile": self.mig_profile,
            "memory": self.memory,
            "visible_devices": self.visible,
            "driver": str(self.driver),
            "kernel_module": str(self.module) if self.module else None,
            "libcuda": self.libcuda,
            "libcuda_version": str(self.libcuda_version) if self.libcuda_version else None,
            "cuda": self.cuda,
            "forward_compatibility": self.shadowed,
            "container": self.container,
        }


def describe(greeting: Greeting, device: DeviceFacts, module: DriverVersion | None) -> LoadMachine:
    """Everything that is known from the driver's words and the kernel's; ``InfrastructureError`` without a version."""
    library = libcuda_version(greeting.libcuda)
    driver = library or module
    if driver is None:
        raise InfrastructureError(
            f"nothing tells the version of this driver (libcuda: {greeting.libcuda or 'unknown'})",
            remedy="install nvidia-smi beside the driver",
        )
    return LoadMachine(
        gpu=device.name,
        sm=device.sm,
        uuid=device.identity,
        mig_profile=device.mig_profile,
        memory=device.memory,
        visible=len(greeting.devices),
        driver=driver,
        module=module,
        libcuda=greeting.libcuda,
        libcuda_version=library,
        cuda=f"{greeting.cuda // 1000}.{greeting.cuda % 1000 // 10}",
        shadowed=_in_compat_folder(greeting.libcuda) or (None not in {library, module} and library != module),
        container=any(mark.exists() for mark in _CONTAINERS),
    )


def module_version(place: Path = MODULE) -> DriverVersion | None:
    """The kernel module's version as the kernel states it; ``None`` where it does not."""
    try:
        text = place.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = _VERSION.search(text.partition("\n")[0])
    return DriverVersion(found.group()) if found else None


def kernel_module() -> DriverVersion | None:
    """The kernel module's version, asked of nvidia-smi where the kernel does not state it (WSL, some sandboxes)."""
    stated = module_version()
    return stated or next((DriverVersion(gpu.driver) for gpu in installed_gpus()), None)


def libcuda_version(path: str) -> DriverVersion | None:
    """The version in the name of the library's file (``libcuda.so.580.159.04``); ``None`` if it has none."""
    found = _LIBCUDA.fullmatch(path.rpartition("/")[2])
    return DriverVersion(found[1]) if found else None


def _in_compat_folder(path: str) -> bool:
    """Whether the library lies where NVIDIA's forward-compatibility packages put theirs."""
    return "compat" in path.split("/")
