"""What can stand between an image and the driver."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.model.versions import DriverVersion


class Certainty(IntEnum):
    """Whether the obstacle is known to be one, or only not known to be none."""

    CERTAIN = 0
    DOUBT = 1


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason why a load fails: the rule that owns it, the CUDA error, what was observed.

    ``floor`` is the lowest driver without this obstacle, ``None`` where no driver helps or none is known to.
    """

    rule: str
    error: str
    observed: str
    floor: DriverVersion | None = None
    certainty: Certainty = Certainty.CERTAIN
