"""Which entry of a container the driver takes, and what comes of it.

Measured on an H200 with driver 580.159.04: a cubin that the GPU can execute wins over any PTX, even PTX it could not
read. Among PTX the highest architecture the GPU can run is taken, and *then* the load fails if that one is too new;
older PTX beside it is not tried. `CUDA_DISABLE_PTX_JIT=1` leaves the cubins, `CUDA_FORCE_PTX_JIT=1` the PTX. The same
fault has another name for a bare PTX file than inside a container.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.formats.facts import Codec, EntryKind
from pipeline.model.arch import ArchSuffix
from pipeline.rules import (
    arch_suffix,
    cubin_abi,
    fatbin_codec,
    fatbin_kind,
    jit_feature,
    ptx_isa,
    static_shared_memory,
    toolkit_major,
)
from pipeline.rules.choice import JitPass, Selection, Via
from pipeline.rules.obstacle import Certainty, Obstacle
from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from pipeline.model.arch import Gpu
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.rules.unit import Image, Unit

NO_BINARY = "CUDA_ERROR_NO_BINARY_FOR_GPU"
JIT_DISABLED = "CUDA_ERROR_JIT_COMPILATION_DISABLED"
INVALID_PTX = "CUDA_ERROR_INVALID_PTX"
INVALID_SOURCE = "CUDA_ERROR_INVALID_SOURCE"
_SPECIFICITY = (ArchSuffix.NONE, ArchSuffix.FAMILY, ArchSuffix.SPECIFIC)


def select(unit: Unit, gpu: Gpu, driver: DriverVersion, jit: JitPass, policy: Policy) -> Selection:
    """Predict the driver's choice among a unit's images; ``UnknownDriver`` outside the tables.

    Where a device-linked program has nothing for the GPU, its relocatable parts are linked at its start, out of PTX:
    seen on an H200 with driver 580.159.04, with and without a final cubin for another SM, and under forced JIT too,
    with relocatable cubins of the device runtime among them. Where no part is PTX nothing is linked.
    """
    own = _select_own(unit, gpu, driver, jit, policy)
    if own.via is not Via.NOTHING or not unit.linked:
        return own
    parts = [_select_part(replace(unit, images=images), gpu, driver, jit, policy) for images in unit.linked]
    if not any(part.via is Via.JIT for part in parts):
        return own
    return next((part for part in parts if not part.loads), replace(parts[0], via=Via.JIT))


def _select_part(part: Unit, gpu: Gpu, driver: DriverVersion, jit: JitPass, policy: Policy) -> Selection:
    """What is linked of one relocatable container; forced JIT leaves a part without PTX for the GPU its cubin."""
    found = _select_own(part, gpu, driver, jit, policy)
    if found.via is Via.NOTHING and jit is JitPass.FORCED:
        return _select_own(part, gpu, driver, JitPass.AS_IS, policy)
    return found


def _select_own(unit: Unit, gpu: Gpu, driver: DriverVersion, jit: JitPass, policy: Policy) -> Selection:
    readable = _readable(unit.images, driver, policy)
    if unit.bare:
        return _select_bare(unit.images[0], gpu, driver, jit, policy)
    cubins = [] if jit is JitPass.FORCED else _runnable(readable, EntryKind.CUBIN, gpu, policy)
    if cubins:
        return _judged_cubin(max(cubins, key=_rank), gpu, driver, policy, _doubts(unit.images, driver, policy))
    texts = _runnable(readable, EntryKind.PTX, gpu, policy)
    if not texts:
        return Selection(None, Via.NOTHING, (_gap(unit.images, gpu, driver, policy),))
    best = max(texts, key=_rank)
    if jit is JitPass.FORBIDDEN:
        return Selection(best, Via.JIT, (_jit_disabled(best),))
    return _judged_ptx(best, gpu, driver, policy, _doubts(unit.images, driver, policy))


def _select_bare(image: Image, gpu: Gpu, driver: DriverVersion, jit: JitPass, policy: Policy) -> Selection:
    """A file of its own, given to cuModuleLoadData: PTX is read before its target is compared with the GPU."""
    runs = _runs(image, gpu, policy)
    if image.kind is EntryKind.CUBIN:
        if not runs and image.arch is not None:  # an ELF of an unknown generation does not say what it is for
            return Selection(None, Via.NOTHING, (_gap((image,), gpu, driver, policy),))
        return _judged_cubin(image, gpu, driver, policy, ())
    if jit is JitPass.FORBIDDEN:
        return Selection(image, Via.JIT, (_jit_disabled(image),))
    unreadable = ptx_isa.obstacle(image, driver, policy)
    if unreadable is None and not runs:
        gap = _gap((image,), gpu, driver, policy)
        return Selection(None, Via.NOTHING, (Obstacle(gap.rule, INVALID_PTX, gap.observed, gap.floor),))
    return _judged_ptx(image, gpu, driver, policy, ())


def _readable(images: tuple[Image, ...], driver: DriverVersion, policy: Policy) -> list[Image]:
    """The images the driver sees: those of a concatenated container only where it may know that kind."""
    seen: list[Image] = []
    for image in images:
        if image.kind is EntryKind.CONCATENATED:
            if fatbin_kind.may_read(image, driver, policy):
                seen.extend(image.nested)
        else:
            seen.append(image)
    return seen


def _doubts(images: tuple[Image, ...], driver: DriverVersion, policy: Policy) -> tuple[Obstacle, ...]:
    found = (fatbin_kind.obstacle(image, driver, policy) for image in images)
    return tuple(item for item in found if item is not None and item.certainty is not Certainty.CERTAIN)


def _runnable(images: list[Image], kind: EntryKind, gpu: Gpu, policy: Policy) -> list[Image]:
    return [image for image in images if image.kind is kind and _runs(image, gpu, policy)]


def _runs(image: Image, gpu: Gpu, policy: Policy) -> bool:
    return image.arch is not None and image.arch.runs_on(gpu, image_tegra=policy.tegra(image.arch.number))


def _rank(image: Image) -> tuple[int, int]:
    arch = image.arch
    return (arch.number, _SPECIFICITY.index(arch.suffix)) if arch is not None else (0, 0)


def _judged_cubin(
    image: Image, gpu: Gpu, driver: DriverVersion, policy: Policy, doubts: tuple[Obstacle, ...]
) -> Selection:
    found = (
        fatbin_codec.obstacle(image, driver, policy),
        toolkit_major.obstacle(image, driver, policy),
        cubin_abi.obstacle(image, driver, policy),
        _damage(image),
        _mislabelled(image, gpu, policy),
    )
    return Selection(image, Via.CUBIN, _ordered((*found, *doubts)))


def _judged_ptx(
    image: Image, gpu: Gpu, driver: DriverVersion, policy: Policy, doubts: tuple[Obstacle, ...]
) -> Selection:
    found = (
        ptx_isa.obstacle(image, driver, policy),
        fatbin_codec.obstacle(image, driver, policy),
        _damage(image),
        jit_feature.obstacle(image, policy),
        static_shared_memory.obstacle(image, gpu.number, policy),
    )
    return Selection(image, Via.JIT, _ordered((*found, *doubts)))


def _ordered(found: tuple[Obstacle | None, ...]) -> tuple[Obstacle, ...]:
    """Certain obstacles first; otherwise in the order in which the driver meets them."""
    return tuple(sorted((item for item in found if item is not None), key=lambda item: item.certainty.value))


def _damage(image: Image) -> Obstacle | None:
    """A packed payload that does not unpack is an unknown error, an image that is no ELF an invalid one (measured)."""
    if image.damage is None:
        return None
    packed = image.codec is not Codec.NONE
    return Obstacle("corrupt-input", "CUDA_ERROR_UNKNOWN" if packed else "CUDA_ERROR_INVALID_IMAGE", image.damage)


def _mislabelled(image: Image, gpu: Gpu, policy: Policy) -> Obstacle | None:
    """An entry that promises code for this GPU and holds an ELF for another: the choice falls on it all the same.

    The error is what an H200 with driver 580.159.04 answers, JIT forbidden or not.
    """
    inside = image.inside
    if inside is None or inside.runs_on(gpu, image_tegra=policy.tegra(inside.number)):
        return None
    return Obstacle("corrupt-input", INVALID_SOURCE, f"an ELF for {inside} in an entry that says {image.arch}")


def _jit_disabled(image: Image) -> Obstacle:
    return Obstacle("jit-forbidden", JIT_DISABLED, f"only {image.what} serves, and JIT is forbidden")


def _gap(images: tuple[Image, ...], gpu: Gpu, driver: DriverVersion, policy: Policy) -> Obstacle:
    """Why no image can be taken: an unreadable container kind, a suffix, or nothing for this GPU at all."""
    for image in images:
        hidden = fatbin_kind.obstacle(image, driver, policy)
        if (
            hidden is not None
            and hidden.certainty is Certainty.CERTAIN
            and any(_runs(inner, gpu, policy) for inner in image.nested)
        ):
            return hidden
    doubtful = _of_unknown_kind(images, gpu, policy)
    if doubtful is not None:
        return doubtful
    embedded = (
        ", ".join(dict.fromkeys(str(image.arch) for image in flat(images) if image.arch is not None)) or "nothing"
    )
    rule = "arch-suffix" if arch_suffix.explains(tuple(flat(images)), gpu, policy) else "arch-missing"
    return Obstacle(rule, NO_BINARY, f"{embedded}: nothing that {gpu} can run")


def _of_unknown_kind(images: tuple[Image, ...], gpu: Gpu, policy: Policy) -> Obstacle | None:
    """What nothing here can read may be just what this driver takes."""
    for image in flat(images):
        if image.unknown_kind and (image.arch is None or _runs(image, gpu, policy)):
            observed = f"{image.what}, which the tables of {policy.date} do not know"
            return Obstacle(fatbin_kind.RULE, NO_BINARY, observed, None, Certainty.DOUBT)
    return None
