"""The lowest driver on which every container loads on an SM: PTX, cubin and codec floors together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.audit.aims import loads_on
from pipeline.audit.report import Floor
from pipeline.policy.unknown import OutsidePolicy

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
    """Climb from the GPU's first driver: at each step to the highest floor that still stands in the way."""
    if not units:
        return Floor("", NONE)
    try:
        row = policy.gpu_row(sm)
    except OutsidePolicy:
        return Floor("", UNKNOWN)
    driver, reason = row.first_driver, _FLOOR_OF_THE_GPU
    while True:
        standing = list(_standing(loads_on(units, row.gpu, driver, declaration, policy)))
        if not standing:
            retired = row.last_branch is not None and driver.branch > row.last_branch
            return Floor("", NONE) if retired else Floor(str(driver), reason)
        if any(obstacle.floor is None or obstacle.floor <= driver for obstacle in standing):
            return Floor("", UNKNOWN if _only_doubts(standing, driver) else NONE)
        highest = max(standing, key=lambda obstacle: obstacle.floor or driver)
        driver, reason = highest.floor or driver, highest.rule


def _standing(loads: tuple[Load, ...]) -> Iterator[Obstacle]:
    for load in loads:
        if not load.excused:
            yield from load.selection.obstacles


def _only_doubts(standing: list[Obstacle], driver: object) -> bool:
    return all(obstacle.certainty for obstacle in standing if obstacle.floor is None or obstacle.floor == driver)
