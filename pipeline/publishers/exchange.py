"""Let two names of one disk change places in one step, so that neither is ever missing. Linux's renameat2."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_HERE = -100  # AT_FDCWD: relative paths are the working directory's (fcntl.h)
_EXCHANGE = 2  # RENAME_EXCHANGE (linux/fs.h)
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EXDEV)
"""What kernels and file systems answer that do not know how."""


def exchanged(one: Path, other: Path) -> bool:
    """Whether the two, which both exist, changed places; ``False`` where system or disk cannot.

    ``OSError`` where they may not.
    """
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # a C library without it
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), str(one))
