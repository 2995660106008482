"""PTX that a driver would compile was refused by the assembler, or could not be given to one.

What: with `audit --rehearse` and in the check `rehearse@SM@DRIVER`, every PTX text that a target's driver would compile
is assembled with the ptxas of that driver's CUDA version (`cubingate policy assemblers`). What it refuses is told under
the rule that says why (ptx-isa, jit-feature, static-shared-memory, register-budget), and here where none does: a syntax
error, an unknown symbol, a function that nothing defines. What could not be tried, since no assembler was to be had or
it did not end within its limits of time and memory, is "unknown", never a pass.

Why: nvcc does not assemble PTX that it only embeds (`code=compute_80`): the first to do so is a user's driver, which
answers CUDA_ERROR_INVALID_PTX (218) for the whole module. And it takes its time: a rehearsal says how many seconds.

Remedy: assemble in the build what is shipped (`-gencode arch=compute_80,code=[sm_80,compute_80]` makes nvcc do it), or
ship machine code. Where no assembler was reached: run once with a network, they stay in the cache.

Source: nvcc manual, "Virtual Architectures" and "Just-In-Time Compilation"; measured: ptxas 11.7 to 13.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.rehearsal_examination import examine

if TYPE_CHECKING:
    from pipeline.rules.subject import Examination, Subject

RULE = "rehearsal"


def check(subject: Subject) -> Examination:
    """How much was assembled; what came of it is told by ``rehearsed``, which all rules share."""
    return examine(subject)
