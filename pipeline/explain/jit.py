"""What the compilation of JIT sources says under ids of its own; others it shares with the audit of bytes."""

from __future__ import annotations

from pipeline.explain.topic import Asked, Topic


def _topic(identifier: str, document: str) -> Topic:
    return Topic(identifier, Asked.AUDIT, document.strip())


COMPILATIONS: tuple[Topic, ...] = (
    _topic(
        "jit-compile",
        """
A kernel source that does not compile on the user's machine, whatever the GPU.

What: a file of jit_sources that its compiler refuses for another reason than a feature that the GPU lacks (a header
that is not there, a mistake, a template without instance), that takes longer than its time_limit or more than its
memory_limit, or on which the compiler itself ends by a signal.

Why: nobody compiles it before a user does. The server says that it is ready and dies on its first request, or looks
hung while a template-heavy source compiles for minutes. Endless template recursion ends at the compiler's depth limit,
exponential templates only at yours.

Remedy: correct the source, or what matrix.yaml declares for it: include, headers, defines, instances. Over a limit:
fewer instances in one file, machine code shipped for the GPU, or a higher time_limit that users are told of.

Source: NVRTC documentation, error codes and options; measured: NVRTC 11.8 to 13.5, Triton 3.5.1.
""",
    ),
    _topic(
        "dynamic-shared-memory",
        """
A kernel that is compiled at run time wants more shared memory than a block may have on this GPU.

What: its static shared memory and what a launch asks for (dynamic_shared of a JIT source; Triton's own number) are more
than the GPU's limit: 48 KiB up to sm_62, 64 KiB on sm_75, 96 KiB on sm_70, 99 KiB on sm_86, sm_89 and sm_120, 163 KiB
on sm_80, 227 KiB on sm_90 and sm_100 (`cubingate policy architectures`). From 48 KiB to that limit a launch of CUDA C++
gets it only when it asked: that is a note with the attribute's name and value.

Why: tiles are tuned on one GPU. The kernel compiles and loads everywhere; where the tile does not fit, each launch
fails with CUDA_ERROR_INVALID_VALUE, and Triton raises "OutOfResources: shared memory, Required: 98304, Hardware limit:
65536".

Remedy: choose the tile, the number of stages or another kernel by compute capability; below the limit, call
cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before the first launch.

Source: CUDA C++ Programming Guide, technical specifications per compute capability; FreeToken issue 246.
""",
    ),
)
