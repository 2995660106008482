"""SHA-256 of a file: what everything that is pinned, recorded or published is known by."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from pathlib import Path

_PIECE = 4 << 20


def file_sha256(path: Path) -> str:
    """Lower-case hex; ``InfrastructureError`` when the file cannot be read.

    The pieces are large because between them a thread needs the interpreter, which another may hold for milliseconds.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb", buffering=0) as file:
            piece = memoryview(bytearray(min(os.fstat(file.fileno()).st_size + 1, _PIECE)))
            while count := file.readinto(piece):
                digest.update(piece[:count])
    except OSError as error:
        raise InfrastructureError(f"cannot read {path}: {error.strerror}") from error
    return digest.hexdigest()
