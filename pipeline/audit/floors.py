"""The lowest driver on which every container loads on an SM: PTX, cubin and codec floors together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.audit.aims import loads_on
from pipeline.audit.report import Floor
from pipeline.policy.unknown import OutsidePolicy
from pipeline.rules.obstacle import Certainty

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.policy import Policy
    from pipeline.rules.declaration import Declaration
    from pipeline.rules.obstacle import Obstacle
    from pipeline.rules.subject import Load
    from pipeline.rules.unit import Unit

NONE, UNKNOWN = "none", "unknown"
_FLOOR_OF_THE_GPU = "driver-too-old-for-gpu"


def minimum_driver(sm: int, units: tuple[Unit, ...], declaration: Declaration | None, policy: Policy) -> Floor:
    """Climb from the GPU's first driver, each time to the next floor that something still asks for."""
    if not units:
        return Floor("", NONE)
    try:
        row = policy.gpu_row(sm)
    except OutsidePolicy:
        return Floor("", UNKNOWN)
    driver, reason = row.first_driver, _FLOOR_OF_THE_GPU
    while row.last_branch is None or driver.branch <= row.last_branch:
        standing = list(_standing(loads_on(units, row.gpu, driver, declaration, policy)))
        if not standing:
            return Floor(str(driver), reason)
        above = [(obstacle.floor, obstacle.rule) for obstacle in standing if obstacle.floor and obstacle.floor > driver]
        if not above:
            certain = any(obstacle.certainty is Certainty.CERTAIN for obstacle in standing)
            return Floor("", NONE if certain else UNKNOWN)
        driver, reason = min(above, key=lambda step: step[0])
    return Floor("", NONE)


def _standing(loads: tuple[Load, ...]) -> Iterator[Obstacle]:
    for load in loads:
        if not load.excused:
            yield from load.selection.obstacles
