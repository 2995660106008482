"""What GitHub takes as a release, from the policy table of that name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.policy.tables import FOLDER, read_table

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Limits:
    """The most files of a release, and the most bytes of one of them."""

    files: int
    bytes: int


def load_limits(folder: Path = FOLDER) -> Limits:
    """The table; ``InconsistentTables`` for a row without a source."""
    most = {row["limit"]: int(row["most"]) for row in read_table("github_limits", folder)}
    return Limits(most["release-files"], most["release-file-bytes"])
