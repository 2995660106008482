"""Lints about the compiler: what the toolkit of a lane can emit, and whether its base image holds that toolkit."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pipeline.formats.facts import EntryKind
from pipeline.matrix.archs import spell_archs
from pipeline.model.arch import ArchKind, TargetArch
from pipeline.model.finding import Finding, Severity
from pipeline.model.lane import ToolkitOrigin
from pipeline.model.versions import ToolkitVersion
from pipeline.policy.unknown import UnknownCompression

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.model.lane import BaseImage, Lane
    from pipeline.policy import Policy

FIRST_WHEELS_WITH_NVCC = 13
_NVIDIA_CUDA = re.compile(
    r"(?:.*/)?nvidia/cuda:(?P<version>[0-9]+\.[0-9]+(?:\.[0-9]+)?)-(?:cudnn[0-9]*-)?(?P<kind>base|runtime|devel)\b.*"
)
_PLAIN_DISTRIBUTION = re.compile(r"(?:debian|ubuntu|fedora|rockylinux|almalinux)(?::.*)?")


def found(lane: Lane, rule: str, setting: str, *, declared: str, observed: str, remedy: str) -> Finding:
    """An error at the place of ``setting``; ``lint`` adds the names of the lanes it concerns."""
    return Finding(
        rule=rule,
        severity=Severity.ERROR,
        path=str(lane.place(setting)),
        declared=declared,
        observed=observed,
        remedy=remedy,
    )


def toolkit_cannot_emit(lane: Lane, policy: Policy) -> Iterator[Finding]:
    """The lane's toolkit knows no such architecture: nvcc ends with "unsupported gpu architecture"."""
    if lane.toolkit is None or lane.prebuilt:
        return
    emitted = {arch.name for arch in policy.toolkit(lane.toolkit).archs}
    lacking = [arch for arch in lane.archs if arch.name not in emitted]
    if lacking:
        names = spell_archs(lacking)
        observed = f"toolkit {lane.toolkit} cannot emit {names}"
        yield found(
            lane,
            "toolkit-arch",
            "archs",
            declared=f"archs {names}",
            observed=observed,
            remedy=_other_toolkit(lane, lacking, policy),
        )


def _other_toolkit(lane: Lane, lacking: Sequence[TargetArch], policy: Policy) -> str:
    wanted = {arch.name for arch in lane.archs}
    fitting = [row.version for row in policy.toolkits if wanted <= {arch.name for arch in row.archs}]
    drop = f"drop {', '.join(dict.fromkeys(arch.name for arch in lacking))}"
    return f"use toolkit {_range(fitting, policy)}, or {drop}" if fitting else f"{drop}, or split the lane by toolkit"


def _range(versions: Sequence[ToolkitVersion], policy: Policy) -> str:
    everything = [row.version for row in policy.toolkits]
    tail = everything[-len(versions) :] == list(versions)
    if tail and len(versions) > 1:
        return f"{versions[0]} or later"
    unbroken = all(everything.index(b) - everything.index(a) == 1 for a, b in pairwise(versions))
    return f"{versions[0]} to {versions[-1]}" if unbroken and len(versions) > 1 else ", ".join(map(str, versions))


def no_such_compression(lane: Lane, policy: Policy) -> Iterator[Finding]:
    """nvcc has ``--compress-mode`` from 12.8 on (libnvfatbin from 12.6); older ones end with "unknown option"."""
    if lane.toolkit is None or lane.compression is None or lane.prebuilt:
        return
    policy.toolkit(lane.toolkit)
    try:
        for kind in image_kinds(lane):
            policy.codec_of(lane.toolkit, lane.compression, kind)
    except UnknownCompression:
        observed = f"toolkit {lane.toolkit} has no --compress-mode={lane.compression}"
        remedy = "write compression: default, or use toolkit 12.8 or later"
        yield found(
            lane,
            "compression-mode",
            "compression",
            declared=f"compression {lane.compression}",
            observed=observed,
            remedy=remedy,
        )


def image_kinds(lane: Lane) -> tuple[EntryKind, ...]:
    """What the arch list makes: cubins, PTX or both."""
    kinds = {ArchKind.REAL: EntryKind.CUBIN, ArchKind.VIRTUAL: EntryKind.PTX}
    return tuple(dict.fromkeys(kinds[arch.kind] for arch in lane.archs))


def wheels_without_nvcc(lane: Lane, _policy: Policy) -> Iterator[Finding]:
    """NVIDIA's wheels of CUDA 11 and 12 carry ptxas and nvvm but no nvcc driver: nothing can be compiled with them."""
    if lane.toolkit_origin is ToolkitOrigin.WHEELS and lane.toolkit and lane.toolkit.major < FIRST_WHEELS_WITH_NVCC:
        remedy = f"write toolkit_from: base-image with nvidia/cuda:{lane.toolkit}-devel-…, or use toolkit 13.0 or later"
        observed = f"the wheels of CUDA {lane.toolkit.major} have no nvcc"
        yield found(
            lane,
            "toolkit-wheels",
            "toolkit",
            declared=f"toolkit {lane.toolkit} from wheels",
            observed=observed,
            remedy=remedy,
        )


def base_image_disagrees(lane: Lane, _policy: Policy) -> Iterator[Finding]:
    """The base image's tag names another toolkit than the lane, has no compiler, or gets a second toolkit on top."""
    if lane.toolkit is None or lane.base_image is None or lane.prebuilt:
        return
    tag = _NVIDIA_CUDA.fullmatch(lane.base_image.reference)
    wheels = lane.toolkit_origin is ToolkitOrigin.WHEELS
    if tag is None:
        if not wheels and _PLAIN_DISTRIBUTION.fullmatch(lane.base_image.reference):
            remedy = f"use nvidia/cuda:{lane.toolkit}-devel-…, or write toolkit_from: wheels"
            yield _disagreement(lane, lane.base_image, "the image has no CUDA toolkit", remedy)
    elif wheels:
        remedy = "write toolkit_from: base-image, or use a plain image such as debian:bookworm-slim"
        yield _disagreement(lane, lane.base_image, f"the image holds toolkit {tag['version']} already", remedy)
    else:
        yield from _wrong_tag(lane, lane.base_image, tag["version"], tag["kind"])


def _wrong_tag(lane: Lane, image: BaseImage, version: str, kind: str) -> Iterator[Finding]:
    held = ToolkitVersion(version)
    if lane.toolkit and any(a != b for a, b in zip(held.parts, lane.toolkit.parts, strict=False)):
        other = image.reference.replace(version, str(lane.toolkit))
        remedy = f'write toolkit: "{version}", or use {other}'
        yield _disagreement(lane, image, f"the image holds toolkit {version}", remedy)
    if kind != "devel":
        other = image.reference.replace(f"-{kind}", "-devel")
        yield _disagreement(lane, image, f"a {kind} image has no nvcc", f"use {other}")


def _disagreement(lane: Lane, image: BaseImage, observed: str, remedy: str) -> Finding:
    declared = f"toolkit {lane.toolkit} in {image.reference}"
    return found(lane, "base-image-toolkit", "base_image", declared=declared, observed=observed, remedy=remedy)
