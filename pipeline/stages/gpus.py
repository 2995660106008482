"""Finds the GPU of this machine on which a check proves what its name says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.policy import load_policy
from pipeline.stages.check import Observation, skipped

if TYPE_CHECKING:
    from pipeline.machine import InstalledGpu
    from pipeline.stages.street import Street


def gpu_for(check: str, street: Street) -> InstalledGpu | Observation:
    """A GPU that is the target of ``check`` (``KIND@SM@DRIVER``), exactly so where there is one; else a reasoned skip.

    ``InfrastructureError`` when the driver does not answer.
    """
    where = check.partition("@")[2]
    gpus = street.gpus()
    policy = load_policy()
    fitting = [gpu for gpu in gpus if policy.proves(gpu.label, where)]
    if not fitting:
        here = ", ".join(gpu.label for gpu in gpus) or "none"
        return skipped(check, f"no GPU {where} on this machine (it has: {here})")
    return next((gpu for gpu in fitting if gpu.label == where), fitting[0])
