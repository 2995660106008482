"""The driver is older than the GPU.

What: the target's driver is older than the first that serves this GPU generation, for instance R515 with an sm_89.

Why: the driver does not see the GPU at all. Users see "no CUDA-capable device is detected" (100). Single products can
need a later build of that branch: HGX B200 needs 570.133.20.

Remedy: raise the driver floor of this target.

Source: PTX ISA manual, release history; data-center drivers, architecture matrix; measured: the JIT compilers of
eight drivers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.driver_retired import NO_DEVICE
from pipeline.rules.obstacle import Obstacle
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from pipeline.model.lane import Target
    from pipeline.policy import Policy
    from pipeline.rules.subject import Subject

RULE = "driver-too-old-for-gpu"


def obstacle(target: Target, policy: Policy) -> Obstacle | None:
    """Whether the driver does not know the GPU yet; ``UnknownGpu`` outside the tables."""
    floor = policy.gpu_floor(target.sm)
    if target.driver >= floor:
        return None
    return Obstacle(RULE, NO_DEVICE, f"sm_{target.sm} needs driver >= {floor}", floor)


def check(subject: Subject) -> Examination:
    """Every target whose driver is older than its GPU."""
    claims = tuple(
        Claim(
            rule=RULE,
            effect=Effect.FAIL,
            path=aim.label,
            declared=f"runs on sm_{aim.target.sm} with driver {aim.target.driver}",
            observed=aim.unserved.observed,
            remedy=f"raise this target's driver to {aim.unserved.floor}",
            targets=(aim.label,),
            error=aim.unserved.error,
        )
        for aim in subject.aims
        if aim.unserved is not None and aim.unserved.rule == RULE
    )
    return Examination(len(subject.aims), claims, None if subject.aims else "no target was named")
