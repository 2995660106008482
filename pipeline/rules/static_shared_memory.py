"""A kernel declares more shared memory than a block may have on this GPU.

What: the static shared memory of a kernel in the image that the driver takes is over 48 KiB, or over what a block may
have on this GPU at all: 48 KiB up to sm_62, 64 KiB on sm_75, 96 KiB on sm_70, 99 KiB on sm_86, sm_89 and sm_120, 163
KiB on sm_80, 227 KiB on sm_90 and sm_100 (`cubingate policy architectures`). Cubins for sm_90 and later count 1 KiB
more, which the system reserves; it is subtracted. PTX is read up to 4 MiB of text in a file of up to 32 MiB, cubins up
to 16 KiB; --kernels reads everything.

Why: ptxas and nvlink refuse more than 48 KiB, but nvcc runs neither for PTX: `code=compute_80` alone is never
assembled before a user's driver does it. Over the limit of the GPU PTX fails with CUDA_ERROR_INVALID_PTX, and the whole
module with it; a cubin loads, and each launch fails with CUDA_ERROR_INVALID_VALUE. Between 48 KiB and that limit
NVIDIA documents no driver that takes it; R580 was measured to, on an H200, so that is "unknown", not "pass".

Remedy: declare the array `extern __shared__` and ask for its size at launch, after cudaFuncSetAttribute(kernel,
cudaFuncAttributeMaxDynamicSharedMemorySize, bytes); or use a smaller tile on this GPU.

Source: CUDA C++ Programming Guide, technical specifications per compute capability; measured: ptxas 11.8 to 13.5, H200
with driver 580.159.04 (232448 bytes load and run, 232449 do not).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.formats.demangle import group_of
from pipeline.model.image import EntryKind
from pipeline.model.paths import printable
from pipeline.rules.choice import Via
from pipeline.rules.device import Told, device_claims
from pipeline.rules.kernel_view import NOT_READ, everything_served, kernel_examination
from pipeline.rules.obstacle import Certainty, Obstacle
from pipeline.rules.subject import Claim, Effect, Examination
from pipeline.rules.unit import RESERVED, RESERVED_FROM, STATIC_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import EntryFacts, KernelFacts
    from pipeline.policy import Policy
    from pipeline.rules.kernel_view import Served
    from pipeline.rules.subject import Aim, Subject
    from pipeline.rules.unit import Image

RULE = "static-shared-memory"
_REMEDY = "declare the array extern __shared__ and ask for its size at launch, or use a smaller one on this GPU"


def obstacle(image: Image, sm: int, policy: Policy) -> Obstacle | None:
    """Whether a PTX text declares more than a block may have on the GPU, or more than assemblers take."""
    if not image.shared:
        return None
    limit = policy.gpu_row(sm).shared_memory_opt_in
    over = limit is not None and image.shared > limit
    certainty = Certainty.CERTAIN if over else Certainty.DOUBT
    return Obstacle(RULE, "CUDA_ERROR_INVALID_PTX" if over else "", _words(image), certainty=certainty)


def _words(image: Image) -> str:
    return f"{printable(group_of(image.largest))} in {image.what} declares {image.shared} bytes"


def declared_bytes(kernel: KernelFacts, image: Image) -> int:
    """What the kernel itself declares, without what the system reserves in cubins for SM 9.0 and later."""
    size = kernel.static_shared or 0
    reserved = image.kind is EntryKind.CUBIN and image.arch is not None and image.arch.number >= RESERVED_FROM
    return max(size - RESERVED, 0) if reserved else size


def check(subject: Subject) -> Examination:
    """Every kernel over a limit in the image that serves a target, as far as images were read."""
    listed = (
        claim for aim, container in everything_served(subject) for claim in _claims(aim, container, subject.policy)
    )
    claims = (*device_claims(subject, RULE, lambda aim, _met: _told(aim, subject.policy)), *listed)
    found = kernel_examination(subject, claims)
    if found.not_applicable != NOT_READ:
        return found
    read = sum(1 for inventory in subject.inventories for entry in inventory.entries if _was_read(entry))
    return Examination(read, (*claims, *_of_cubins(subject)), None if read and subject.aims else NOT_READ)


def _was_read(entry: EntryFacts) -> bool:
    return entry.text is not None or (entry.cubin is not None and entry.cubin.kernels is not None)


def _of_cubins(subject: Subject) -> Iterator[Claim]:
    """Small cubins, where kernels were not listed: they load, and launches fail."""
    for aim in subject.aims:
        for load in aim.loads:
            image, loads = load.selection.image, load.selection.loads and load.selection.via is Via.CUBIN
            if image is not None and image.shared and loads and not load.excused:
                limit = subject.policy.gpu_row(aim.target.sm).shared_memory_opt_in
                over = limit is not None and image.shared > limit
                yield Claim(
                    rule=RULE,
                    effect=Effect.FAIL if over else Effect.DOUBT,
                    path=str(load.unit.path),
                    declared=_told(aim, subject.policy).declared,
                    observed=_words(image),
                    remedy=_REMEDY,
                    count=load.unit.count,
                    targets=(aim.label,),
                    error="CUDA_ERROR_INVALID_VALUE" if over else "",
                    group=str(load.unit.library),
                )


def _told(aim: Aim, policy: Policy) -> Told:
    most = policy.gpu_row(aim.target.sm).shared_memory_opt_in or STATIC_LIMIT
    words = f"at most {STATIC_LIMIT} bytes of static shared memory, {most} at all, on sm_{aim.target.sm}"
    return Told(words, _REMEDY)


def _claims(aim: Aim, container: Served, policy: Policy) -> Iterator[Claim]:
    limit = policy.gpu_row(aim.target.sm).shared_memory_opt_in
    image = container.chosen.image
    for kernel in container.chosen.kernels:
        size = declared_bytes(kernel, image)
        if size > STATIC_LIMIT:
            yield _claim(aim, container, kernel, size, limit)


def _claim(aim: Aim, container: Served, kernel: KernelFacts, size: int, limit: int | None) -> Claim:
    over = limit is not None and size > limit
    error = "CUDA_ERROR_INVALID_PTX" if container.chosen.image.kind is EntryKind.PTX else "CUDA_ERROR_INVALID_VALUE"
    allowed = f"at most {limit if over else STATIC_LIMIT} bytes of static shared memory"
    return Claim(
        rule=RULE,
        effect=Effect.FAIL if over else Effect.DOUBT,
        path=str(container.path),
        declared=f"{allowed} on sm_{aim.target.sm}",
        observed=f"{printable(group_of(kernel.name))} in {container.chosen.image.what} declares {size} bytes",
        remedy=_REMEDY,
        targets=(aim.label,),
        error=error if over else "",
        group=str(container.load.unit.library),
    )
