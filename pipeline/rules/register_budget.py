"""A kernel needs more registers for its own block than a block may have.

What: registers per thread, rounded up to 8, times the threads of the block that the kernel was compiled for, rounded up
to whole warps, are more than a block's 65536 registers (32768 on sm_53 and sm_62). Only with --kernels, only where the
code says how large its blocks are.

Why: ptxas fits the registers to __launch_bounds__, but an explicit register count (.maxnreg in PTX, as code generators
write it) goes before. A block that must have that size (.reqntid) can never be launched: "too many resources requested
for launch" (701). Where it is only the largest allowed (.maxntid), smaller blocks run, which is told as a warning.

Remedy: leave the register count to the assembler, or lower one of the two.

Source: CUDA C++ Programming Guide, technical specifications per compute capability; measured: ptxas 12.8, H200 with
driver 580.159.04.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.formats.demangle import group_of
from pipeline.model.paths import printable
from pipeline.rules.kernel_view import everything_served, kernel_examination
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from pipeline.formats.facts import KernelFacts
    from pipeline.rules.kernel_view import Served
    from pipeline.rules.subject import Aim, Subject

RULE = "register-budget"
_WARP, _ROUNDED_TO = 32, 8
_REGISTERS, _REGISTERS_OF_SMALL, _SMALL = 65_536, 32_768, (53, 62)


def registers_of_block(kernel: KernelFacts) -> int:
    """Registers that a block of the declared size takes; 0 where the size or the registers are not known."""
    if kernel.registers is None or kernel.threads is None:
        return 0
    each = -(-kernel.registers // _ROUNDED_TO) * _ROUNDED_TO
    return each * -(-kernel.threads // _WARP) * _WARP


def check(subject: Subject) -> Examination:
    """Every kernel over the budget in the image that serves a target."""
    claims = (
        _claim(aim, container, kernel)
        for aim, container in everything_served(subject)
        for kernel in container.chosen.kernels
        if registers_of_block(kernel) > limit_on(aim.target.sm)
    )
    return kernel_examination(subject, tuple(claims))


def limit_on(sm: int) -> int:
    """Registers that a block may take."""
    return _REGISTERS_OF_SMALL if sm in _SMALL else _REGISTERS


def _claim(aim: Aim, container: Served, kernel: KernelFacts) -> Claim:
    name, kind = printable(group_of(kernel.name)), "exactly" if kernel.exact else "at most"
    return Claim(
        rule=RULE,
        effect=Effect.FAIL if kernel.exact else Effect.WARNING,
        path=str(container.path),
        declared=f"at most {limit_on(aim.target.sm)} registers in a block on sm_{aim.target.sm}",
        observed=f"{name} in {container.chosen.image.what}: {kernel.registers} registers x {kind} {kernel.threads} "
        f"threads are {registers_of_block(kernel)}",
        remedy="leave the register count to the assembler (no .maxnreg), or make the block smaller",
        targets=(aim.label,),
        error="CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" if kernel.exact else "",
        group=str(container.load.unit.library),
    )
