"""Only architecture- or family-specific images, and this GPU is not the one they are for.

What: a container would serve the GPU if its images were built for the plain architecture, but they carry the suffix
`a` (this exact SM only, cubin and PTX alike) or `f` (this family only: 100f serves 100, 103 and 107; 120f serves 120
and 121).

Why: `sm_90a` PTX does not reach Blackwell, `sm_120a` does not serve sm_121, `sm_100f` does not serve sm_120. The
suffix is in the flags of the entry; the SM number alone does not show it. Users see "no kernel image is available for
execution on the device" (209), for a bare PTX file "a PTX JIT compilation failed" (218).

Remedy: add the sibling's own suffix (103a), use the family target (100f, toolkit 12.9 on), or build the plain
architecture where no specific instruction is used.

Source: nvcc manual, GPU feature list; ptxas --help ("PTX with .target sm_XYa can only be compiled to GPU target
sm_XYa"); measured: nvJitLink 12.4 to 13.5, H200 with driver 580.159.04.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.model.arch import ArchSuffix
from pipeline.rules.device import Told, examine_device
from pipeline.rules.overrides import pardons

if TYPE_CHECKING:
    from pipeline.model.arch import Gpu, TargetArch
    from pipeline.policy import Policy
    from pipeline.rules.obstacle import Obstacle
    from pipeline.rules.subject import Aim, Examination, Subject
    from pipeline.rules.unit import Image

RULE = "arch-suffix"


def explains(images: tuple[Image, ...], gpu: Gpu, policy: Policy) -> bool:
    """Whether the suffix is why nothing serves: the plain architecture would, or there is nothing but suffixes."""
    archs = [image.arch for image in images if image.arch is not None]
    if not archs:
        return False
    if all(arch.suffix is not ArchSuffix.NONE for arch in archs):
        return True
    return any(arch.suffix is not ArchSuffix.NONE and _plain_runs(arch, gpu, policy) for arch in archs)


def _plain_runs(arch: TargetArch, gpu: Gpu, policy: Policy) -> bool:
    plain = replace(arch, suffix=ArchSuffix.NONE)
    return plain.runs_on(gpu, image_tegra=policy.tegra(plain.number))


def check(subject: Subject) -> Examination:
    """Every unit whose suffixes leave a target out."""
    return examine_device(subject, RULE, _told, examined=subject.containers, more=pardons(subject, RULE))


def _told(aim: Aim, _met: Obstacle) -> Told:
    sm = aim.target.sm
    remedy = f"build {sm} (or its family target) as well: a and f images serve no other GPU"
    return Told(f"runs on sm_{sm}", remedy)
