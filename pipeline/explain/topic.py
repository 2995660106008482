"""Whatever can be asked about by its id: a rule of the audit, of a comparison, or of the plan lint."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Asked(StrEnum):
    """Which command says it."""

    AUDIT = "audit"
    DIFF = "diff"
    PLAN = "plan"


@dataclass(frozen=True, slots=True)
class Topic:
    """An id that findings and outcomes carry, who says it, and its text: what, why, remedy and source."""

    id: str
    asked: Asked
    document: str
