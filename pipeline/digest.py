"""SHA-256 of a file: what everything that is pinned, recorded or published is known by."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from pathlib import Path


def file_sha256(path: Path) -> str:
    """Lower-case hex; ``InfrastructureError`` when the file cannot be read."""
    try:
        with path.open("rb", buffering=0) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InfrastructureError(f"cannot read {path}: {error.strerror}") from error
