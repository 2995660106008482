"""The driver no longer serves this GPU.

What: the target's driver branch is newer than the last one for this GPU generation: R470 for Kepler, R580 for Maxwell,
Pascal and Volta.

Why: the driver does not see the GPU at all, whatever the bundle contains. Users see "no CUDA-capable device is
detected" (100).

Remedy: promise an older driver branch for this GPU, or do not promise the GPU.

Source: data-center drivers, CUDA toolkit, driver and architecture matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.obstacle import Obstacle
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from pipeline.model.lane import Target
    from pipeline.policy import Policy
    from pipeline.rules.subject import Subject

RULE = "driver-retired"
NO_DEVICE = "CUDA_ERROR_NO_DEVICE"


def obstacle(target: Target, policy: Policy) -> Obstacle | None:
    """Whether the driver dropped the GPU; ``UnknownGpu`` outside the tables."""
    last = policy.gpu_last_branch(target.sm)
    if last is None or target.driver.branch <= last:
        return None
    name = policy.gpu_row(target.sm).name
    return Obstacle(RULE, NO_DEVICE, f"R{last} is the last driver branch for sm_{target.sm} ({name})")


def check(subject: Subject) -> Examination:
    """Every target whose GPU its driver has dropped."""
    claims = tuple(
        Claim(
            rule=RULE,
            effect=Effect.FAIL,
            path=aim.label,
            declared=f"runs on sm_{aim.target.sm} with driver {aim.target.driver}",
            observed=aim.unserved.observed,
            remedy="promise an older driver branch for this GPU, or do not promise the GPU",
            targets=(aim.label,),
            error=aim.unserved.error,
        )
        for aim in subject.aims
        if aim.unserved is not None and aim.unserved.rule == RULE
    )
    return Examination(len(subject.aims), claims, None if subject.aims else "no target was named")
