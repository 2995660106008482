"""What a worker says first: the driver and the devices it found, or why the driver does not start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import InfrastructureError
from pipeline.gpu.child import WorkerLost, WorkerSilent
from pipeline.gpu.fault import PassingFault, fault

if TYPE_CHECKING:
    from pipeline.gpu.child import Child

_AUDIT = "`cubingate audit --target SM@DRIVER` predicts without a GPU"
_REMEDIES = {
    "CUDA_ERROR_NO_DEVICE": "see nvidia-smi, the device nodes /dev/nvidia*, and CUDA_VISIBLE_DEVICES",
    "CUDA_ERROR_STUB_LIBRARY": "take the toolkit's lib/stubs folder out of LD_LIBRARY_PATH: it is for linking only",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": (
        "this libcuda is of another version than the kernel module: take the compat folder out of LD_LIBRARY_PATH, "
        "or reload the module after a driver update"
    ),
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": (
        "forward compatibility is for data-centre GPUs: take the compat folder out of LD_LIBRARY_PATH"
    ),
    "CUDA_ERROR_SYSTEM_NOT_READY": "start the fabric manager (nvidia-fabricmanager), then run again",
    "CUDA_ERROR_OUT_OF_MEMORY": "see what else uses the GPU (nvidia-smi), then run again",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "another process holds the GPU exclusively: see nvidia-smi",
}


class NoDevice(InfrastructureError):
    """The driver is there and shows no device."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """One visible device as the driver reports it; ``slice_uuid`` is empty for a whole GPU, ``memory`` in bytes."""

    index: int
    name: str
    sm: int
    uuid: str
    slice_uuid: str
    memory: int

    @property
    def identity(self) -> str:
        """The UUID that names exactly this device: the MIG slice's where it is one."""
        return self.slice_uuid or self.uuid

    @property
    def mig_profile(self) -> str | None:
        """``1g.5gb`` for a MIG slice: the driver puts it at the end of the name."""
        _, found, profile = self.name.rpartition(" MIG ")
        return profile if found else None


@dataclass(frozen=True, slots=True)
class Greeting:
    """The libcuda that was really loaded, the CUDA version it supports (13000 is 13.0), and the devices."""

    libcuda: str
    cuda: int
    devices: tuple[DeviceFacts, ...]


def greet(child: Child, seconds: float) -> dict[str, Any]:
    """The worker's next word while it starts; ``InfrastructureError`` when the driver does not start."""
    try:
        told = child.hear(seconds)
    except WorkerLost as lost:
        raise PassingFault(f"the NVIDIA driver ends the process that starts it: {lost}") from lost
    except WorkerSilent as silent:
        raise PassingFault(
            f"the NVIDIA driver does not start in {seconds:g} s", remedy="see dmesg for Xid messages"
        ) from silent
    if "failure" in told:
        raise _explained(told)
    return told


def read_greeting(child: Child, seconds: float) -> Greeting:
    """The worker's first word; ``InfrastructureError`` when there is no driver, or it does not start."""
    told = greet(child, seconds)
    devices = tuple(DeviceFacts(**device) for device in told["devices"])
    if not devices:
        raise NoDevice("the NVIDIA driver sees no GPU", remedy=_REMEDIES["CUDA_ERROR_NO_DEVICE"])
    return Greeting(str(told["libcuda"]), int(told["cuda"]), devices)


def _explained(told: dict[str, Any]) -> InfrastructureError:
    failure, where = told["failure"], told["libcuda"]
    if failure["call"] == "dlopen":
        return InfrastructureError(f"no NVIDIA driver on this machine: {failure['name']}", remedy=_AUDIT)
    name = str(failure["name"])
    place = f" (libcuda: {where})" if where else ""
    message, remedy = f"{failure['call']} answers {name}{place}", _REMEDIES.get(name, _AUDIT)
    return NoDevice(message, remedy=remedy) if name == "CUDA_ERROR_NO_DEVICE" else fault(name, message, remedy)
