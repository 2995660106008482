"""From compilations to claims: each refusal, limit and missing driver under the rule that explains it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.formats.demangle import group_of
from pipeline.jit import remedies
from pipeline.jit.plan import TOOLKIT
from pipeline.jit.words import COMPILE, FEATURE
from pipeline.model.jit import JitLanguage, JitOutput
from pipeline.model.paths import printable
from pipeline.rules import register_budget
from pipeline.rules.assembly import Ending
from pipeline.rules.subject import Claim, Effect
from pipeline.rules.unit import RESERVED, RESERVED_FROM, STATIC_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import KernelFacts
    from pipeline.jit.compilation import Compilation, Refusal
    from pipeline.jit.gaps import Gap
    from pipeline.model.target import Target
    from pipeline.policy import Policy

STATIC, DYNAMIC, ISA, MAJOR = "static-shared-memory", "dynamic-shared-memory", "ptx-isa", "toolkit-major"
_FAILING = {Ending.TIME_LIMIT, Ending.CRASHED, Ending.OUTPUT_LIMIT}
MISSING = "kernel-missing"
_TOLD, _LONGEST = 3, 120
_NOT_LAUNCHED = "CUDA_ERROR_INVALID_VALUE"
_LIMIT_REMEDY = "compile less at once (fewer instances), ship machine code for it, or raise time_limit and memory_limit"


@dataclass(frozen=True, slots=True)
class _About:
    """Makes claims about one target from one compilation."""

    compilation: Compilation
    target: Target

    def claim(
        self, rule: str, effect: Effect, observed: str, remedy: str, *, place: str = "", error: str = ""
    ) -> Claim:
        source, compiler = self.compilation.source.name, self.compilation.compiler
        return Claim(
            rule=rule,
            effect=effect,
            path=place or self.compilation.file,
            declared=f"{source} compiles on users' machines with {compiler or 'their driver'}",
            observed=observed,
            remedy=remedy,
            targets=(self.target.label,),
            error=error if effect is Effect.FAIL else "",
            group=source,
        )


def claims_of(compilation: Compilation, target: Target, policy: Policy) -> Iterator[Claim]:
    """Everything that this compilation says about the target."""
    for refusal in compilation.refusals:
        yield _refusal(compilation, refusal, target, policy)
    if compilation.ending is Ending.ACCEPTED:
        yield from _driver(compilation, target, policy)
        for kernel in compilation.kernels:
            yield from _shared(compilation, kernel, target, policy)
            yield from _registers(compilation, kernel, target)
    elif compilation.ending is not Ending.REFUSED:
        effect = Effect.FAIL if compilation.ending in _FAILING else Effect.DOUBT
        remedy = _LIMIT_REMEDY if compilation.ending is not Ending.NO_ASSEMBLER else "name toolkits for this source"
        yield _About(compilation, target).claim(COMPILE, effect, compilation.reason, remedy)


def claim_of(gap: Gap, target: Target) -> Claim:
    """A kernel that other GPUs have: whether the program asks for it on this one, its source does not say."""
    more = f" and {len(gap.kernels) - _TOLD} more" if len(gap.kernels) > _TOLD else ""
    named = ", ".join(printable(name)[:_LONGEST] for name in gap.kernels[:_TOLD])
    holders = ", ".join(f"sm_{sm}" for sm in gap.holders)
    said = f"no {named}{more} comes out for sm_{gap.compilation.sm}, as it does for {holders}"
    return _About(gap.compilation, target).claim(MISSING, Effect.DOUBT, said, remedies.of_gap())


def _refusal(compilation: Compilation, refusal: Refusal, target: Target, policy: Policy) -> Claim:
    if refusal.rule == STATIC:
        limit = policy.gpu_row(target.sm).shared_memory_opt_in or STATIC_LIMIT
        said = (
            f"{_kernel(refusal.kernel)} declares {refusal.size} bytes of shared memory, a compiler takes {STATIC_LIMIT}"
        )
        return _About(compilation, target).claim(
            STATIC, Effect.FAIL, said, remedies.of_static(min(limit, STATIC_LIMIT))
        )
    if refusal.rule == TOOLKIT:
        remedy = "compile with a toolkit that knows this GPU there (toolkits), or do not promise it"
        return _About(compilation, target).claim(TOOLKIT, Effect.FAIL, refusal.text, remedy)
    known = {FEATURE, ISA}
    rule = refusal.rule if refusal.rule in known else COMPILE
    remedy = remedies.of_refusal(compilation, refusal)
    return _About(compilation, target).claim(rule, Effect.FAIL, _observed(refusal), remedy, place=refusal.place)


def _observed(refusal: Refusal) -> str:
    parts = [refusal.feature or refusal.text]
    if refusal.instruction:
        parts.append(f"in `{printable(refusal.instruction)}`")
    if refusal.kernel:
        parts.append(f"({_kernel(refusal.kernel)})")
    said = " ".join(parts)
    if not refusal.first:
        return said
    words = f" [{refusal.text}]" if refusal.feature else ""
    return f"{said}: sm_{refusal.first} is the first that has it{words}"


def _driver(compilation: Compilation, target: Target, policy: Policy) -> Iterator[Claim]:
    """Whether the target's driver takes what the product hands it."""
    hands_ptx = compilation.source.language is JitLanguage.PTX or compilation.source.output is JitOutput.PTX
    if hands_ptx and compilation.ptx is not None and compilation.ptx > policy.max_ptx(target.driver):
        newest = policy.max_ptx(target.driver)
        said = f"its PTX is of ISA {compilation.ptx}, R{target.driver.branch} reads up to {newest}"
        remedy = "hand the driver machine code (output: cubin), or compile with a toolkit of the driver's CUDA version"
        error = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
        yield _About(compilation, target).claim(ISA, Effect.FAIL, said, remedy, error=error)
    if not hands_ptx and compilation.toolkit is not None:
        floor = policy.cubin_floor(compilation.toolkit.major)
        if target.driver < floor:
            said = f"its machine code is of CUDA {compilation.toolkit}, which needs driver {floor}"
            remedy = f"compile with a toolkit of an older major there, or promise drivers from {floor} on"
            yield _About(compilation, target).claim(MAJOR, Effect.FAIL, said, remedy, error="CUDA_ERROR_INVALID_IMAGE")


def _shared(compilation: Compilation, kernel: KernelFacts, target: Target, policy: Policy) -> Iterator[Claim]:
    limit = policy.gpu_row(target.sm).shared_memory_opt_in
    static = max((kernel.static_shared or 0) - (RESERVED if target.sm >= RESERVED_FROM else 0), 0)
    name, dynamic = _kernel(kernel.name), compilation.dynamic_shared
    if static > STATIC_LIMIT:
        said = f"{name} declares {static} bytes of static shared memory"
        effect = Effect.FAIL if limit is None or static > limit else Effect.DOUBT
        yield _About(compilation, target).claim(
            STATIC, effect, said, remedies.of_static(STATIC_LIMIT), error=_NOT_LAUNCHED
        )
    elif limit is not None and static + dynamic > limit:
        said = f"{name} needs {static + dynamic} bytes of shared memory ({dynamic} of them asked for at launch), "
        said += f"a block has at most {limit} on sm_{target.sm}"
        yield _About(compilation, target).claim(
            DYNAMIC, Effect.FAIL, said, remedies.of_dynamic(limit), error=_NOT_LAUNCHED
        )
    elif static + dynamic > STATIC_LIMIT and compilation.source.language is not JitLanguage.TRITON:
        said = (
            f"{name} needs {static + dynamic} bytes of shared memory, more than the {STATIC_LIMIT} that need no asking"
        )
        yield _About(compilation, target).claim(DYNAMIC, Effect.NOTE, said, remedies.of_attribute(dynamic))


def _registers(compilation: Compilation, kernel: KernelFacts, target: Target) -> Iterator[Claim]:
    needed, limit = register_budget.registers_of_block(kernel), register_budget.limit_on(target.sm)
    if needed > limit:
        said = (
            f"{_kernel(kernel.name)}: {kernel.registers} registers x {kernel.threads} threads are {needed} of {limit}"
        )
        effect = Effect.FAIL if kernel.exact else Effect.WARNING
        remedy = "leave the register count to the assembler (no maxrregcount), or make the block smaller"
        error = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
        yield _About(compilation, target).claim(register_budget.RULE, effect, said, remedy, error=error)


def _kernel(name: str) -> str:
    return printable(group_of(name)) if name else "a kernel"
