"""The digest of the policy tables: a verdict is only as good as the facts it was given under."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pipeline.policy.tables import FOLDER, NAMES

if TYPE_CHECKING:
    from pathlib import Path


def tables_digest(folder: Path = FOLDER) -> str:
    """SHA-256 over the names and bytes of all tables, in the order in which they are declared."""
    digest = hashlib.sha256()
    for name in NAMES:
        content = (folder / f"{name}.csv").read_bytes()
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
