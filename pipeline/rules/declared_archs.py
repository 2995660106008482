"""The embedded architectures differ from the declared ones.

What: the lane declares an arch list, and the product's own libraries (NVIDIA's aside) contain another set.

Why: a default list moved with the toolkit, a build option did not arrive, or a project rewrites the list (ggml turns
12X into 12Xa). A missing architecture breaks the promise; one that nobody asked for only costs size and build time.

Remedy: correct the arch list of the lane, or of the build (CMAKE_CUDA_ARCHITECTURES, TORCH_CUDA_ARCH_LIST, -gencode).

Source: docker/model-runner pull request 986; ggml-cuda/CMakeLists.txt.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.formats.facts import EntryKind
from pipeline.model.arch import ArchKind, ArchSuffix
from pipeline.rules.nvidia import is_toolkit_library
from pipeline.rules.subject import Claim, Effect, Examination
from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.model.arch import TargetArch
    from pipeline.rules.subject import Subject
    from pipeline.rules.unit import Unit

RULE = "declared-archs"


def check(subject: Subject) -> Examination:
    """Compare the lane's list with what the product's own units hold."""
    declared = set(subject.declaration.archs) if subject.declaration is not None else set()
    if not declared:
        return Examination(0, (), "no architectures are declared")
    own = [unit for unit in subject.units if not is_toolkit_library(unit.library.name)]
    if not own:
        return Examination(0, (), "no device code of the product's own in the input")
    found = observed_archs(own)
    missing, extra = declared - found, found - declared
    rewritten = {arch for arch in missing if replace(arch, suffix=ArchSuffix.SPECIFIC) in extra}
    unasked = extra - {replace(arch, suffix=ArchSuffix.SPECIFIC) for arch in rewritten}
    differences = (
        (missing - rewritten, "without", Effect.FAIL),
        (rewritten, "only with the suffix a:", Effect.WARNING),
        (unasked, "besides", Effect.WARNING),
    )
    claims = (
        _claim(subject, f"{spell(found)} ({word} {spell(difference)})", len(difference), effect)
        for difference, word, effect in differences
        if difference
    )
    return Examination(sum(unit.entries for unit in own), tuple(claims))


def observed_archs(units: Iterable[Unit]) -> set[TargetArch]:
    """Every architecture that some unit has an image for."""
    return {
        image.arch
        for unit in units
        for image in flat(unit.images)
        if image.arch is not None and image.kind in {EntryKind.CUBIN, EntryKind.PTX}
    }


def _claim(subject: Subject, observed: str, count: int, effect: Effect) -> Claim:
    return Claim(
        rule=RULE,
        effect=effect,
        path=subject.inventories[0].root,
        declared=spell(subject.declaration.archs if subject.declaration is not None else ()),
        observed=observed,
        remedy="correct the arch list of the lane or of the build",
        count=count,
        targets=subject.labels if effect is Effect.FAIL else (),
    )


def spell(archs: Iterable[TargetArch]) -> str:
    """CMake's dialect, in order: ``80-real;90a-real;90-virtual``."""
    ordered = sorted(archs, key=lambda arch: (arch.kind is ArchKind.VIRTUAL, arch.number, arch.suffix))
    return ";".join(f"{arch.name}-{arch.kind.value}" for arch in ordered) or "nothing"
