"""One thing that was looked at, on a machine or in a repository."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Look:
    """Whether it is there, what was seen, and what that means or how to get it."""

    name: str
    present: bool
    seen: str
    advice: str = ""

    def to_json(self) -> dict[str, Any]:
        """Every field by name."""
        return {"name": self.name, "present": self.present, "seen": self.seen, "advice": self.advice}
