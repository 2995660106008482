"""What to write in the source so that a GPU is served that lacks something: the guard, by language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.jit import JitLanguage

if TYPE_CHECKING:
    from pipeline.jit.compilation import Compilation, Refusal

_COMPILE = "correct the source, or the headers, defines and instances that matrix.yaml declares for it"
_OTHER_KERNEL = "choose another kernel on the host by compute capability, or do not promise this GPU"


def guard(arch: str) -> str:
    """The preprocessor's condition for GPUs from ``arch`` (``75``, ``90a``) on."""
    number = arch.rstrip("af")
    if number == arch:
        return f"#if __CUDA_ARCH__ >= {number}0"
    return f"#if defined(__CUDA_ARCH_FEAT_SM{number}_ALL)"


def of_refusal(compilation: Compilation, refusal: Refusal) -> str:
    """What to change; the guard where an architecture has it first."""
    if not refusal.first:
        return _COMPILE
    number, suffix = int(refusal.first.rstrip("af")), refusal.first.lstrip("0123456789")
    if suffix and number == compilation.sm:
        return f"compile for sm_{refusal.first} there (arch_suffix: {suffix}), or {_OTHER_KERNEL}"
    match compilation.source.language:
        case JitLanguage.CUDA:
            return f"guard it with {guard(refusal.first)} … #else … #endif, or from_sm: {number} and {_OTHER_KERNEL}"
        case JitLanguage.TRITON:
            major, minor = divmod(number, 10)
            return (
                f"Triton emits it for every GPU: launch this kernel where get_device_capability() >= "
                f"({major}, {minor}) only (from_sm: {number}), and {_OTHER_KERNEL}"
            )
        case JitLanguage.PTX:
            return f"keep a second text without it for GPUs below sm_{refusal.first}, and {_OTHER_KERNEL}"


def of_gap() -> str:
    """A kernel that comes out for other GPUs only."""
    return (
        "take __global__ out of the #if on __CUDA_ARCH__ and guard its body; or, if the host chooses by compute "
        "capability, make the kernel a source of its own with from_sm or up_to_sm"
    )


def of_static(limit: int) -> str:
    """Too much static shared memory."""
    attribute = "cudaFuncAttributeMaxDynamicSharedMemorySize"
    return (
        f"declare the array extern __shared__ and ask for its size at launch after cudaFuncSetAttribute(kernel, "
        f"{attribute}, bytes), or use a tile of at most {limit} bytes on this GPU"
    )


def of_dynamic(limit: int) -> str:
    """More shared memory than a block can have."""
    return f"use a tile of at most {limit} bytes on this GPU (fewer stages, a smaller block), or {_OTHER_KERNEL}"


def of_attribute(size: int) -> str:
    """More than 48 KiB, which a launch gets only when it asks."""
    return f"cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, {size}) before the first launch"
