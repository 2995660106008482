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

from pipeline.rules.device import examine_unserved
from pipeline.rules.obstacle import Obstacle

if TYPE_CHECKING:
    from pipeline.model.lane import Target
    from pipeline.policy import Policy
    from pipeline.rules.subject import Examination, Subject

RULE = "driver-retired"
NO_DEVICE = "CUDA_ERROR_NO_DEVICE"
_REMEDY = "promise an older driver branch for this GPU, or do not promise the GPU"


def obstacle(target: Target, policy: Policy) -> Obstacle | None:
    """Whether the driver dropped the GPU; ``UnknownGpu`` outside the tables."""
    last = policy.gpu_last_branch(target.sm)
    if last is None or target.driver.branch <= last:
        return None
    name = policy.gpu_row(target.sm).name
    return Obstacle(RULE, NO_DEVICE, f"R{last} is the last driver branch for sm_{target.sm} ({name})")


def check(subject: Subject) -> Examination:
    """Every target whose GPU its driver has dropped."""
    return examine_unserved(
        subject, RULE, lambda _: "promise an older driver branch for this GPU, or do not promise the GPU"
    )
