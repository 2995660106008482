"""``cuModuleLoadData`` over a file of images, each after its length in 8 bytes, and nothing else: a yardstick."""

from __future__ import annotations

import ctypes
import sys


def main(path: str) -> int:
    library = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    failed = (
        library.cuInit(0)
        or library.cuDeviceGet(ctypes.byref(device), 0)
        or library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        or library.cuCtxSetCurrent(context)
    )
    with open(path, "rb") as file:  # noqa: PTH123  # pathlib takes as long to import as the rest
        while not failed and (head := file.read(8)):
            module, image = ctypes.c_void_p(), ctypes.create_string_buffer(file.read(int.from_bytes(head, "little")))
            if library.cuModuleLoadData(ctypes.byref(module), image) == 0:
                library.cuModuleUnload(module)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
