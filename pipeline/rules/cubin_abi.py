"""Machine code in an ELF format generation that the driver cannot read.

What: the cubin the driver would take is of ABI 8 (OS ABI 0x41, entry code version 1.8), and the driver is older than
the first that reads it; or of a generation newer than the tables.

Why: toolkits 12.8 and 12.9 write ABI 8 for sm_100 and up, 13.x for every target. The linkers of R550 and older refuse
it. Users see "device kernel image is invalid" (200).

Remedy: raise the driver floor to R570 (sm_100 and up, toolkit 12.8 and 12.9) or R580 (toolkit 13.x), or build for
older drivers with toolkit 12.x.

Source: measured: ELF headers of every ptxas from 11.2 to 13.5; the linkers of drivers 460 to 550; nvJitLink 12.0 to
13.5 (the reader appears with 12.5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.policy.unknown import UnknownCubinAbi
from pipeline.rules.device import Told, examine_device
from pipeline.rules.obstacle import Certainty, Obstacle

if TYPE_CHECKING:
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.rules.subject import Aim, Examination, Subject
    from pipeline.rules.unit import Image

RULE = "cubin-abi"
_ERROR = "CUDA_ERROR_INVALID_IMAGE"


def obstacle(image: Image, driver: DriverVersion, policy: Policy) -> Obstacle | None:
    """Whether ``driver`` cannot read the ELF generation of ``image``."""
    try:
        floor = policy.cubin_abi_floor(image.abi)
    except UnknownCubinAbi:
        observed = f"{image.what} of ABI {image.abi}, which the tables of {policy.date} do not know"
        return Obstacle(RULE, _ERROR, observed, None, Certainty.DOUBT)
    if floor is None or driver >= floor:
        return None
    return Obstacle(RULE, _ERROR, f"{image.what} of ABI {image.abi} needs driver >= {floor}", floor)


def check(subject: Subject) -> Examination:
    """Every unit whose chosen cubin the driver cannot read."""
    return examine_device(subject, RULE, _told, examined=subject.entries)


def _told(aim: Aim, met: Obstacle) -> Told:
    floor = met.floor or "a driver of that toolkit"
    return Told(f"driver >= {aim.target.driver}", f"raise the floor to {floor}, or build with toolkit 12.x")
