"""What tells that a GPU did the work: the server's words, and its card's memory before, while and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Statement:
    """What the server says: layers on the GPU of all there are, and megabytes of its model there."""

    layers: int
    of: int
    mebibytes: float


@dataclass(frozen=True, slots=True)
class Use:
    """A card's memory at one moment: bytes in use, and the processes that NVML names."""

    used: int
    processes: frozenset[int]


@dataclass(frozen=True, slots=True)
class MemorySeen:
    """Bytes in use before, while and after the server ran; ``by_process`` says that NVML named the server itself."""

    before: int
    during: int
    by_process: bool
    after: int | None = None

    @property
    def left(self) -> int | None:
        """Bytes more than before; ``None`` while it was not looked."""
        return None if self.after is None else max(0, self.after - self.before)

    def to_json(self) -> dict[str, Any]:
        """As the smoke document has it."""
        return {
            "before": self.before,
            "during": self.during,
            "after": self.after,
            "left": self.left,
            "server_named": self.by_process,
        }
