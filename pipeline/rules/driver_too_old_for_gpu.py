"""The driver is older than the GPU.

What: the target's driver is older than the first that serves this GPU generation, for instance R515 with an sm_89.

Why: the driver does not see the GPU at all. Users see "no CUDA-capable device is detected" (100). Branches are
compared: single products came with builds before the one that the toolkit shipped (an RTX 4090 with 520.56.06), others
need a later one (HGX B200 needs 570.133.20).

Remedy: raise the driver floor of this target.

Source: PTX ISA manual, release history; data-center drivers, architecture matrix; measured: the JIT compilers of
eight drivers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.device import examine_unserved
from pipeline.rules.driver_retired import NO_DEVICE
from pipeline.rules.obstacle import Obstacle

if TYPE_CHECKING:
    from pipeline.model.lane import Target
    from pipeline.policy import Policy
    from pipeline.rules.subject import Examination, Subject

RULE = "driver-too-old-for-gpu"


def obstacle(target: Target, policy: Policy) -> Obstacle | None:
    """Whether the driver does not know the GPU yet; ``UnknownGpu`` outside the tables."""
    floor = policy.gpu_floor(target.sm)
    if target.driver.branch >= floor.branch:  # products came with earlier builds of it: 455.23.04, 520.56.06
        return None
    return Obstacle(RULE, NO_DEVICE, f"sm_{target.sm} needs driver >= {floor}", floor)


def check(subject: Subject) -> Examination:
    """Every target whose driver is older than its GPU."""
    return examine_unserved(subject, RULE, lambda met: f"raise this target's driver to {met.floor}")
