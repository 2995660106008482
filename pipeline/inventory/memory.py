"""What was found in a file before: by whom it is kept is not this room's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.inventory.ledger import Ledger
    from pipeline.inventory.tree import Stamp
    from pipeline.model.paths import MemberPath


@dataclass(frozen=True, slots=True)
class CachePlace:
    """The folder in which a memory may keep what it knows, and the time (nanoseconds) at which the run began."""

    folder: Path
    now: int


@dataclass(frozen=True, slots=True)
class Found:
    """A file's digest, and the facts of everything in it; ``ledger`` is ``None`` for a file that just is ``what``."""

    sha256: str
    what: str
    ledger: Ledger | None


class Memory(Protocol):
    """Facts and digests of files, by stamp and place. Never a verdict, and never for a gate: that looks itself."""

    def recall(self, stamp: Stamp, place: MemberPath, empty: Callable[[], Ledger]) -> Found | None:
        """What is known of a file that lies at ``place`` now, its facts in an ``empty`` ledger; ``None``: nothing."""
        ...

    def keep(self, stamp: Stamp, place: MemberPath, found: Found) -> None:
        """Remember what was found, if it can be trusted later: not where the file has just been written."""
        ...

    def close(self) -> None:
        """Write down what is to be kept."""
        ...
