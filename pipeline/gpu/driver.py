"""NVIDIA's driver library, the few documented calls that loading a module takes.

Only a worker may use this: libcuda can end or hang the process that it is loaded into. Signatures and numbers are those
of the CUDA Driver API reference (https://docs.nvidia.com/cuda/cuda-driver-api/).
"""

from __future__ import annotations

import ctypes
import struct
import time

LIBRARY = "libcuda.so.1"
SUCCESS = "CUDA_SUCCESS"
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
_WALL_TIME, _LOG, _LOG_SIZE = 2, 5, 6  # CU_JIT_WALL_TIME, CU_JIT_ERROR_LOG_BUFFER and _SIZE_BYTES
_LOG_ROOM = 4096
# A stub, and a driver that does not start, may not answer cuGetErrorName.
_AT_START = {
    3: "CUDA_ERROR_NOT_INITIALIZED",
    34: "CUDA_ERROR_STUB_LIBRARY",
    46: "CUDA_ERROR_DEVICE_UNAVAILABLE",
    100: "CUDA_ERROR_NO_DEVICE",
    304: "CUDA_ERROR_OPERATING_SYSTEM",
    802: "CUDA_ERROR_SYSTEM_NOT_READY",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    999: "CUDA_ERROR_UNKNOWN",
}


class DriverFailure(Exception):
    """A call of the driver failed: which, and the error's number and name."""

    def __init__(self, call: str, code: int, name: str) -> None:
        super().__init__(f"{call}: {name}")
        self.call = call
        self.code = code
        self.name = name


class Loaded:
    """What became of one module: the error name, seconds in the call, seconds the JIT says it took, and its words."""

    __slots__ = ("jit_seconds", "log", "name", "seconds")

    def __init__(self, name: str, seconds: float, jit_seconds: float, log: str) -> None:
        self.name, self.seconds, self.jit_seconds, self.log = name, seconds, jit_seconds, log


class Driver:
    """An opened libcuda. ``OSError`` from the constructor when there is none."""

    def __init__(self, library: str = LIBRARY) -> None:
        self._lib = ctypes.CDLL(library)
        self._context = ctypes.c_void_p()

    def path(self) -> str:
        """The file that the dynamic linker really loaded, symbolic links resolved; empty if the kernel does not say."""
        # pathlib would take a worker as long to import as everything else.
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123
            for line in maps:
                _, found, place = line.rstrip("\n").partition("/")
                if found and place.rpartition("/")[2].startswith("libcuda.so"):
                    return "/" + place.removesuffix(" (deleted)")
        return ""

    def initialize(self) -> None:
        """``cuInit``; ``DriverFailure``."""
        self._call("cuInit", ctypes.c_uint(0))

    def cuda_version(self) -> int:
        """The CUDA version that the driver supports, 13000 for 13.0; ``DriverFailure``."""
        version = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(version))
        return version.value

    def devices(self) -> list[dict[str, object]]:
        """Every device that this process may see, as it is told to the parent; ``DriverFailure``.

        ``uuid`` is the whole GPU's, ``slice_uuid`` the MIG slice's where the device is one.
        """
        count = ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        return [self._device(index) for index in range(count.value)]

    def use(self, index: int) -> None:
        """Make the primary context of a device current; ``DriverFailure``."""
        device = self._handle(index)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self._call("cuCtxSetCurrent", self._context)

    def load(self, image: bytearray) -> Loaded:
        """Load a module from bytes in memory, which end with a zero byte, and unload it again."""
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(_LOG_ROOM)
        wall = ctypes.c_float(0.0)
        options = (ctypes.c_int * 3)(_WALL_TIME, _LOG, _LOG_SIZE)
        values = (ctypes.c_void_p * 3)(ctypes.addressof(wall), ctypes.addressof(log), _LOG_ROOM)
        data = (ctypes.c_char * len(image)).from_buffer(image)
        function = self._lib.cuModuleLoadDataEx
        started = time.perf_counter()
        code = function(ctypes.byref(module), data, ctypes.c_uint(3), options, values)
        seconds = time.perf_counter() - started
        if code == 0:
            self._lib.cuModuleUnload(module)
        jit = _milliseconds(values[0], wall) / 1000
        return Loaded(self._name(code), seconds, jit, log.value.decode(errors="replace").strip())

    def healthy(self) -> bool:
        """Whether the context still works: an error that poisons it is answered by every later call too."""
        return bool(self._lib.cuCtxSynchronize() == 0)

    def _handle(self, index: int) -> ctypes.c_int:
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(index))
        return device

    def _device(self, index: int) -> dict[str, object]:
        device, name, memory = self._handle(index), ctypes.create_string_buffer(256), ctypes.c_size_t()
        self._call("cuDeviceGetName", name, ctypes.c_int(256), device)
        self._call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
        sm = 10 * self._attribute(_MAJOR, device) + self._attribute(_MINOR, device)
        whole = self._uuid("cuDeviceGetUuid", device)
        # Only the second version knows MIG slices; drivers before CUDA 11.4 do not have it.
        seen = self._uuid("cuDeviceGetUuid_v2", device) if hasattr(self._lib, "cuDeviceGetUuid_v2") else whole
        called = name.value.decode(errors="replace")
        part = f"MIG-{seen}" if seen != whole or " MIG " in called else ""
        return {
            "index": index,
            "name": called,
            "sm": sm,
            "uuid": f"GPU-{whole}",
            "slice_uuid": part,
            "memory": memory.value,
        }

    def _attribute(self, which: int, device: ctypes.c_int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(which), device)
        return value.value

    def _uuid(self, call: str, device: ctypes.c_int) -> str:
        raw = ctypes.create_string_buffer(16)
        self._call(call, raw, device)
        text = raw.raw.hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def _call(self, call: str, *arguments: object) -> None:
        try:
            code: int = getattr(self._lib, call)(*arguments)
        except AttributeError:
            raise DriverFailure(call, -1, "not in this libcuda") from None
        if code:
            raise DriverFailure(call, code, self._name(code))

    def _name(self, code: int) -> str:
        if code == 0:
            return SUCCESS
        text = ctypes.c_char_p()
        try:
            answered = self._lib.cuGetErrorName(code, ctypes.byref(text)) == 0
        except AttributeError:
            answered = False
        known = text.value.decode() if answered and text.value else ""
        return known or _AT_START.get(code, f"CUDA_ERROR_{code}")


def _milliseconds(slot: int | None, wall: ctypes.c_float) -> float:
    """The JIT's wall time, whether the driver overwrites the option's slot with the float or follows the pointer in it.

    Nothing in the reference says which; NVIDIA's own samples pass a pointer.
    """
    if slot == ctypes.addressof(wall):
        return wall.value
    value: float = struct.unpack("<f", ((slot or 0) & 0xFFFFFFFF).to_bytes(4, "little"))[0]
    return value if 0.0 <= value < 1e9 else 0.0
