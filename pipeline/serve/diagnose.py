"""Find the CUDA error that a server's log names, whether by its name or by the driver's sentence for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.model.paths import printable
from pipeline.serve.outcome import Diagnosis

if TYPE_CHECKING:
    from collections.abc import Callable

# cudaGetErrorString of CUDA 13.0, cudart 13.0.96; the names are the driver API's, as the contract spells errors.
_SENTENCES = {
    "no kernel image is available for execution on the device": "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "device kernel image is invalid": "CUDA_ERROR_INVALID_IMAGE",
    "the provided PTX was compiled with an unsupported toolchain": "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    "a PTX JIT compilation failed": "CUDA_ERROR_INVALID_PTX",
    "PTX JIT compilation was disabled": "CUDA_ERROR_JIT_COMPILATION_DISABLED",
    "PTX JIT compiler library not found": "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
    "CUDA driver version is insufficient for CUDA runtime version": "cudaErrorInsufficientDriver",
    "system has unsupported display driver / cuda driver combination": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    "forward compatibility was attempted on non supported HW": "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    "CUDA driver is a stub library": "CUDA_ERROR_STUB_LIBRARY",
    "no CUDA-capable device is detected": "CUDA_ERROR_NO_DEVICE",
    "invalid device ordinal": "CUDA_ERROR_INVALID_DEVICE",
    "invalid device function": "cudaErrorInvalidDeviceFunction",
    "named symbol not found": "CUDA_ERROR_NOT_FOUND",
    "out of memory": "CUDA_ERROR_OUT_OF_MEMORY",
    "an illegal memory access was encountered": "CUDA_ERROR_ILLEGAL_ADDRESS",
    "an illegal instruction was encountered": "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "misaligned address": "CUDA_ERROR_MISALIGNED_ADDRESS",
    "unspecified launch failure": "CUDA_ERROR_LAUNCH_FAILED",
    "too many resources requested for launch": "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "uncorrectable ECC error encountered": "CUDA_ERROR_ECC_UNCORRECTABLE",
    "initialization error": "CUDA_ERROR_NOT_INITIALIZED",
    "driver shutting down": "CUDA_ERROR_DEINITIALIZED",
    "CUDA-capable device(s) is/are busy or unavailable": "cudaErrorDevicesUnavailable",
    "operation not supported": "CUDA_ERROR_NOT_SUPPORTED",
    "system not yet initialized": "CUDA_ERROR_SYSTEM_NOT_READY",
    "unknown error": "CUDA_ERROR_UNKNOWN",
}
# Sentences that other software says too: they count only in a line that speaks of CUDA.
_COMMON = ("out of memory", "initialization error", "misaligned address", "operation not supported", "unknown error")
_SENTENCE = re.compile("|".join(re.escape(sentence) for sentence in _SENTENCES))
_NAME = re.compile(r"\bCUDA_ERROR_[A-Z0-9_]+|\bcudaError[A-Z][A-Za-z0-9]+")
_SPEAKS_OF_CUDA = re.compile(r"cuda|\bcu[A-Z]", re.IGNORECASE)
_ABORTS = re.compile(r"CUDA error", re.IGNORECASE)  # ggml's word before it aborts
_PORT_TAKEN = re.compile(
    r"address already in use|couldn't bind HTTP server socket|failed to bind|EADDRINUSE", re.IGNORECASE
)


def diagnose(log_tail: str, explain: Callable[[str], str | None]) -> Diagnosis:
    """Read the end of a failed server's log; control characters in it become visible."""
    error = cuda_error(log_tail)
    shown = "\n".join(printable(line) for line in log_tail.splitlines())
    return Diagnosis(shown, error, explain(error) if error else None)


def cuda_error(log: str) -> str | None:
    """The CUDA error that decided: the one on a line that says ``CUDA error``, else the last one named."""
    named = [(line, error) for line in log.splitlines() if (error := _error_in(line)) is not None]
    deciding = [error for line, error in named if _ABORTS.search(line)]
    return deciding[0] if deciding else named[-1][1] if named else None


def port_taken(log: str) -> bool:
    """Whether the server says that somebody else listens where it was told to."""
    return _PORT_TAKEN.search(log) is not None


def _error_in(line: str) -> str | None:
    if name := _NAME.search(line):
        return name.group()
    sentence = _SENTENCE.search(line)
    if sentence is None or (sentence.group() in _COMMON and not _SPEAKS_OF_CUDA.search(line)):
        return None
    return _SENTENCES[sentence.group()]
