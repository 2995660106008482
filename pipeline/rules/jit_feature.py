"""Code that is compiled on the user's machine uses an instruction that this GPU does not have.

What: source or PTX that is compiled for a target's SM and refused by the compiler, because an instruction, a modifier
or a directive begins with a later SM. Three ways find it. PTX texts up to 4 MiB of a file of up to 32 MiB are read in
every audit, and their instructions compared with what their own `.target` has (`cubingate policy ptx_features`); larger
ones are told as not examined. `audit --rehearse` gives PTX that would be served by JIT to the
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

from pipeline.rules.device import Told, device_claims
from pipeline.rules.obstacle import Obstacle
from pipeline.rules.rehearsal_examination import NOT_REHEARSED, examine
from pipeline.rules.subject import Examination

if TYPE_CHECKING:
    from pipeline.policy import Policy
    from pipeline.rules.subject import Aim, Subject
    from pipeline.rules.unit import Image

RULE = "jit-feature"


def obstacle(image: Image, policy: Policy) -> Obstacle | None:
    """Whether the text uses what its own target does not have: every driver refuses it on every GPU."""
    lacking = policy.jit.lacking(image.instructions, image.arch) if image.arch is not None else ()
    if not lacking:
        return None
    worst = max(lacking, key=lambda item: (item.feature.first.number, item.instruction))
    begins = f"begins with sm_{worst.feature.first.name}"
    return Obstacle(RULE, "CUDA_ERROR_INVALID_PTX", f"{worst.instruction} in {image.what}: {begins}")


def check(subject: Subject) -> Examination:
    """What texts say themselves; what assemblers say is told by ``rehearsed``, which all rules share."""
    claims = device_claims(subject, RULE, _told)
    read = sum(1 for inventory in subject.inventories for entry in inventory.entries if entry.text is not None)
    if subject.rehearsal is not None:
        return Examination(max(examine(subject).examined, len(claims)), claims, examine(subject).not_applicable)
    if not read or not subject.aims:
        return Examination(0, (), NOT_REHEARSED)
    return Examination(read, claims)


def _told(aim: Aim, _met: Obstacle) -> Told:
    remedy = "guard it by architecture (#if __CUDA_ARCH__ >= …), or write PTX for an architecture that has it"
    return Told(f"compiled from PTX on sm_{aim.target.sm} by driver {aim.target.driver}", remedy)
