"""What is the device's or the driver's fault and not a module's, and which of it may pass by itself."""

from __future__ import annotations

from pipeline.errors import InfrastructureError

# https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
INFRASTRUCTURE = frozenset(
    {
        "CUDA_ERROR_OUT_OF_MEMORY",
        "CUDA_ERROR_DEINITIALIZED",
        "CUDA_ERROR_NOT_INITIALIZED",
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "CUDA_ERROR_NO_DEVICE",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "CUDA_ERROR_OPERATING_SYSTEM",
    }
)
# A card that others use, a driver that was killed or is being started: trying again may do.
PASSING = frozenset(
    {
        "CUDA_ERROR_OUT_OF_MEMORY",
        "CUDA_ERROR_DEINITIALIZED",
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "CUDA_ERROR_OPERATING_SYSTEM",
    }
)


class PassingFault(InfrastructureError):
    """The device or its driver failed in a way that may be over soon; nothing was said about the product."""


def fault(name: str, message: str, remedy: str) -> InfrastructureError:
    """The error for a CUDA error name that is not the product's: one to try again after, or one that stays."""
    return (PassingFault if name in PASSING else InfrastructureError)(message, remedy=remedy)
