"""Bundles on disk and the records of how they came to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Artifact:
    """A finished bundle: the exact bytes that evidence is about.

    ``recipe_digest`` covers everything that went into it, so that an unchanged recipe need not build again.
    """

    lane_id: str
    path: Path
    sha256: str
    size: int
    recipe_digest: str
