"""The bytes of a file among evidence, within bounds: whoever brought it may have put anything there."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from pipeline.errors import CorruptInput, InfrastructureError

if TYPE_CHECKING:
    from pathlib import Path


def content_of(path: Path, what: str, most: int, remedy: str) -> bytes:
    """Read ``what`` lies there.

    ``CorruptInput`` for more than ``most`` bytes, and for what is no file (a pipe, a device: neither ends);
    ``InfrastructureError`` where it cannot be read.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise CorruptInput(f"{what} that is no file", remedy=remedy)
        if status.st_size > most:
            raise CorruptInput(f"{what} of more than {most >> 20} MiB", remedy=remedy)
        return path.read_bytes()
    except OSError as error:
        raise InfrastructureError(f"cannot read {what}: {error.strerror}", remedy=remedy) from error
