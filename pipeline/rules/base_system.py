"""Libraries that every host of the field has: the C library's family, the compiler runtime, and the NVIDIA driver's."""

from __future__ import annotations

import re

_C_LIBRARY = (
    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libanl.so.1", "libc.so.6", "libcrypt.so.1", "libdl.so.2",
    "libm.so.6", "libmvec.so.1", "libnsl.so.1", "libpthread.so.0", "libresolv.so.2", "librt.so.1",
    "libthread_db.so.1", "libutil.so.1", "linux-vdso.so.1",
)  # fmt: skip
_RUNTIME = ("libgcc_s.so.1", "libstdc++.so.6", "libatomic.so.1", "libz.so.1")
_DRIVER = re.compile(
    r"lib(?:cuda|cudadebugger|nvcuvid|nvoptix|nvidia-[a-z0-9-]+|EGL_nvidia|GLX_nvidia)\.so\.1", re.ASCII
)
_BASE = frozenset((*_C_LIBRARY, *_RUNTIME))


def has(library: str) -> bool:
    """Whether the base system or the driver brings ``library``. libgomp and libnuma are not among them."""
    return library in _BASE or _DRIVER.fullmatch(library) is not None
