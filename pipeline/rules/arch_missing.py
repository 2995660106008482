"""No image in a unit that this GPU can run.

What: a container has no cubin for the GPU (same major, minor not above the GPU's; integrated GPUs only their own) and
no PTX for its architecture or an older one.

Why: an architecture was dropped from the list, the toolkit no longer knows it (13.x starts at sm_75), the default list
moved with the toolkit, or one file has a shorter list than the rest. PTX goes up, never down. One unit is enough: the
kernel that lies in it fails with "no kernel image is available for execution on the device" (209).

A container without kernels (the link stub of nvcc, a file without device code) is neither coverage nor a gap. Code that
a library keeps for some GPUs on purpose and dispatches around is not counted; docs/rules.md says how it is told apart.
`by_design` and `never_by_design` of a lane overrule that; a pattern that names no library is told.

Remedy: add the architecture to every unit's list (CMake: CMAKE_CUDA_ARCHITECTURES=70-real;80-real; nvcc: -gencode
arch=compute_70,code=sm_70; torch: TORCH_CUDA_ARCH_LIST="7.0 8.0"), or take the target out of the promise.

Source: CUDA C++ Programming Guide, binary compatibility; measured: H200 with driver 580.159.04, 464 single images.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.device import Told, examine_device
from pipeline.rules.overrides import pardons, unmatched

if TYPE_CHECKING:
    from pipeline.rules.obstacle import Obstacle
    from pipeline.rules.subject import Aim, Examination, Subject

RULE = "arch-missing"


def check(subject: Subject) -> Examination:
    """Every unit without an image for a target's GPU."""
    more = (*pardons(subject, RULE), *unmatched(subject, RULE))
    return examine_device(subject, RULE, _told, examined=subject.containers, more=more)


def _told(aim: Aim, _met: Obstacle) -> Told:
    sm = aim.target.sm
    remedy = f"add {sm} to the arch list of this unit (CMake: {sm}-real), or do not promise this GPU"
    return Told(f"runs on sm_{sm}", remedy)
