"""From what assemblers said to claims: each refusal under the rule that explains it, once for each library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.formats.demangle import group_of
from pipeline.model.paths import printable
from pipeline.rules import register_budget
from pipeline.rules.assembly import Complaint, Ending
from pipeline.rules.subject import Claim, Effect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.rules.assembly import Assembly, Rehearsed, TargetRehearsal
    from pipeline.rules.subject import Subject

FEATURE, ISA, SHARED, OTHER = "jit-feature", "ptx-isa", "static-shared-memory", "rehearsal"
REGISTERS = register_budget.RULE
_REMEDIES = {
    FEATURE: "guard it by architecture (#if __CUDA_ARCH__ >= …), choose another kernel on the host by compute "
    "capability, or do not promise this GPU",
    ISA: "add a cubin for this GPU, or raise the driver floor",
    SHARED: "declare the array extern __shared__ and ask for its size at launch, or use a smaller one on this GPU",
    OTHER: "assemble in the build what is shipped as PTX, or ship a cubin for this GPU",
    REGISTERS: "leave the register count to the assembler (no .maxnreg), or make the block smaller",
}
_UNTRIED = {
    Ending.TIME_LIMIT: "allow more with --rehearse-seconds, or ship a cubin for this GPU",
    Ending.MEMORY_LIMIT: "ship a cubin for this GPU",
    Ending.OUTPUT_LIMIT: "ship a cubin for this GPU",
    Ending.CRASHED: "ship a cubin for this GPU",
    Ending.NO_ASSEMBLER: "ship a cubin for this GPU",
    Ending.NOT_FETCHED: "run once with a network: assemblers stay in the cache",
    Ending.NOT_READ: "audit --deep says what is wrong with a payload",
}


def rehearsed_claims(subject: Subject) -> tuple[Claim, ...]:
    """Everything that the rehearsal says against a target; what the audit says anyway is not said twice."""
    if subject.rehearsal is None:
        return ()
    said = {
        (aim.label, met.rule, str(load.unit.library))
        for aim in subject.aims
        for load in aim.loads
        for met in load.selection.obstacles
        if met.rule not in {FEATURE, SHARED}
    }
    listed = all(inventory.kernels for inventory in subject.inventories)
    return tuple(
        claim
        for target in subject.rehearsal.targets
        for claim in _of_target(target, subject)
        if (target.target, claim.rule, claim.group) not in said and not (listed and claim.rule == SHARED)
    )


def merged(rule: str, own: tuple[Claim, ...], rehearsed: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """A rule's claims: what an assembler says about a library on a target stands for what the rule read itself."""
    mine = [claim for claim in rehearsed if claim.rule == rule]
    said = {(target, claim.group) for claim in mine for target in claim.targets}
    kept = (claim for claim in own if not any((target, claim.group) in said for target in claim.targets))
    return (*kept, *mine)


@dataclass(slots=True)
class _Case:
    """The same words about several containers of a library; the first of them stands for all."""

    first: Rehearsed
    complaint: Complaint
    effect: Effect
    count: int = 0


@dataclass(slots=True)
class _Cases:
    found: dict[tuple[str, str, str], _Case] = field(default_factory=dict)

    def add(self, item: Rehearsed, complaint: Complaint, effect: Effect) -> None:
        key = (complaint.rule, str(item.library), complaint.text)
        self.found.setdefault(key, _Case(item, complaint, effect)).count += 1


def _of_target(target: TargetRehearsal, subject: Subject) -> Iterator[Claim]:
    cases = _Cases()
    for item in target.containers:
        # One text with the same fault in ten places is one container with that fault.
        for complaint in {(each.rule, each.text): each for each in reversed(item.assembly.complaints)}.values():
            cases.add(item, complaint, _effect(complaint, target, subject))
        for complaint, effect in _over_budget(item.assembly, target.sm):
            cases.add(item, complaint, effect)
        if not item.assembly.ending.tells:
            cases.add(item, Complaint(OTHER, f"not assembled: {item.assembly.reason}"), Effect.DOUBT)
    yield from (_claim(case, target) for case in cases.found.values())


def _effect(complaint: Complaint, target: TargetRehearsal, subject: Subject) -> Effect:
    """ptxas refuses more than 48 KiB of static shared memory everywhere; a driver's JIT may take what the GPU has."""
    if complaint.rule != SHARED:
        return Effect.FAIL
    limit = subject.policy.gpu_row(target.sm).shared_memory_opt_in
    return Effect.FAIL if limit is not None and complaint.excess > limit else Effect.DOUBT


def _over_budget(assembly: Assembly, sm: int) -> Iterator[tuple[Complaint, Effect]]:
    limit = register_budget.limit_on(sm)
    for kernel in assembly.kernels:
        needed = register_budget.registers_of_block(kernel)
        if needed > limit:
            words = f"{kernel.registers} registers x {kernel.threads} threads are {needed} of {limit}"
            effect = Effect.FAIL if kernel.exact else Effect.WARNING
            yield Complaint(REGISTERS, words, kernel=kernel.name), effect


def _claim(case: _Case, target: TargetRehearsal) -> Claim:
    assembly, complaint = case.first.assembly, case.complaint
    by = target.assembler.words if target.assembler else "no assembler"
    kernel = printable(group_of(complaint.kernel)) if complaint.kernel else ""
    where = ", ".join(part for part in (f"line {complaint.line}" if complaint.line else "", kernel, by) if part)
    remedy = _UNTRIED.get(assembly.ending, "") if complaint.rule == OTHER else ""
    return Claim(
        rule=complaint.rule,
        effect=case.effect,
        path=str(case.first.container),
        declared=f"compiled from PTX on sm_{target.sm} by driver {target.target.partition('@')[2]}",
        observed=f"{assembly.image}: {printable(complaint.text)} ({where})",
        remedy=remedy or _REMEDIES[complaint.rule],
        count=case.count,
        targets=(target.target,),
        error=_error(case, target),
        group=str(case.first.library),
    )


def _error(case: _Case, target: TargetRehearsal) -> str:
    if case.effect is not Effect.FAIL:
        return ""
    old = int(target.target.partition("@")[2].partition(".")[0]) < 450
    unsupported = "CUDA_ERROR_INVALID_PTX" if old else "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
    named = {ISA: unsupported, REGISTERS: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}
    return named.get(case.complaint.rule, "CUDA_ERROR_INVALID_PTX")
