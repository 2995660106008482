"""Code that is compiled on the user's machine uses an instruction that this GPU does not have.

What: source or PTX that is compiled for a target's SM and refused by the compiler, because an instruction, a modifier
or a directive begins with a later SM. Two ways find it. `audit --rehearse` gives PTX that would be served by JIT to the
assembler of the driver's CUDA version. Kernel sources that a product compiles at run time (CUDA C++ through NVRTC,
Triton, inline PTX) are compiled for every promised SM. A finding names instruction, place and the SM that has it first.

Why: PTX for compute_60 promises every later GPU, not every earlier instruction; nobody assembles it before a user's
driver does, and inline PTX is text to the compiler around it. Known ones: `__grid_constant__`, `.L1::no_allocate` and
the scopes and orders of atomics and fences (`atom.acq_rel.gpu`) begin with sm_70, `tanh.approx.f32` with sm_75,
`cp.async` and bf16 arithmetic with sm_80. Users see CUDA_ERROR_INVALID_PTX (218), "a PTX JIT compilation failed", for
the whole module, or a server that says it is ready and dies on the first request.

Remedy: guard it by architecture (#if __CUDA_ARCH__ >= 750 … #else … #endif, in a template as in inline PTX), choose
another kernel on the host by compute capability, or do not promise this GPU.

Source: PTX ISA manual, "Target ISA Notes" of each instruction; measured: ptxas 11.8 to 13.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.rehearsal_examination import examine

if TYPE_CHECKING:
    from pipeline.rules.subject import Examination, Subject

RULE = "jit-feature"


def check(subject: Subject) -> Examination:
    """How much was assembled; what came of it is told by ``rehearsed``, which all rules share."""
    return examine(subject)
