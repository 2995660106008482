"""What a GPU's memory holds, told on request; run as a script of its own, since a driver may end or hang its process.

Its arguments are a GPU's or MIG slice's UUID and optionally the library. On every line of stdin it answers with one
line of JSON: ``{"used": BYTES, "total": BYTES, "processes": [[PID, BYTES or null], …]}``, or ``{"failure": "…"}`` and
ends. It imports nothing but the standard library. Calls and numbers are those of the NVML API reference
(https://docs.nvidia.com/deploy/nvml-api/).
"""

from __future__ import annotations

import ctypes
import json
import sys

LIBRARY = "libnvidia-ml.so.1"
_INSUFFICIENT_SIZE = 7  # NVML_ERROR_INSUFFICIENT_SIZE
_NOT_AVAILABLE = 2**64 - 1  # NVML_VALUE_NOT_AVAILABLE
_ROOM = 4096
# The list of processes has changed its form twice; the newest that the driver has is asked.
_LISTS = tuple(f"nvmlDeviceGetComputeRunningProcesses{version}" for version in ("_v3", "_v2"))


class Failure(Exception):
    """A call failed: which, and NVML's words for it."""


class Memory(ctypes.Structure):
    """``nvmlMemory_t``."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Process(ctypes.Structure):
    """``nvmlProcessInfo_t`` of both list versions."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class Card:
    """One opened device. ``OSError`` where there is no library, ``Failure`` where it does not answer."""

    def __init__(self, uuid: str, library: str = LIBRARY) -> None:
        self._lib = ctypes.CDLL(library)
        self._handle = ctypes.c_void_p()
        self._call("nvmlInit_v2")
        self._call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(self._handle))

    def told(self) -> dict[str, object]:
        """Memory in use and by whom, as it is printed."""
        memory = Memory()
        self._call("nvmlDeviceGetMemoryInfo", self._handle, ctypes.byref(memory))
        return {"used": memory.used, "total": memory.total, "processes": self._processes()}

    def _processes(self) -> list[list[int | None]]:
        for name in _LISTS:
            if not hasattr(self._lib, name):
                continue
            count, rows = ctypes.c_uint(_ROOM), (Process * _ROOM)()
            self._call(name, self._handle, ctypes.byref(count), rows)
            return [[row.pid, None if row.memory == _NOT_AVAILABLE else row.memory] for row in rows[: count.value]]
        return []

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._lib, name)(*arguments)
        if code:
            words = self._lib.nvmlErrorString
            words.restype = ctypes.c_char_p
            raise Failure(f"{name}: {(words(code) or b'').decode(errors='replace')} ({code})")


def main(arguments: list[str]) -> int:
    """Answer until stdin ends."""
    try:
        card = Card(*arguments)
        for _ in sys.stdin.buffer:
            _say(card.told())
    except (Failure, OSError, AttributeError) as failure:
        _say({"failure": str(failure)})
        return 1
    return 0


def _say(words: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
