"""What was rehearsed, as the part ``rehearsal`` of the audit's document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.rules.assembly import Ending

if TYPE_CHECKING:
    from pipeline.rules.assembly import Assembler, Assembly, Rehearsal, Rehearsed, TargetRehearsal


def rehearsal_content(rehearsal: Rehearsal) -> dict[str, Any]:
    """Per target: the assembler that stood for its driver, the count of endings, and every container."""
    return {
        "seconds": round(rehearsal.seconds, 3),
        "workers": rehearsal.workers,
        "targets": [_target(target) for target in rehearsal.targets],
    }


def _target(target: TargetRehearsal) -> dict[str, Any]:
    return {
        "target": target.target,
        "assembler": _assembler(target.assembler) if target.assembler else None,
        "idle": target.idle or None,
        "served": target.served,
        "results": {ending.value: target.count(ending) for ending in Ending if target.count(ending)},
        "jit_seconds": round(target.seconds, 3),
        "containers": [_container(item) for item in target.containers],
    }


def _assembler(assembler: Assembler) -> dict[str, Any]:
    return {
        "name": assembler.name,
        "cuda": assembler.cuda,
        "driver_cuda": assembler.driver_cuda,
        "reads": assembler.reads,
        "sha256": assembler.sha256,
    }


def _container(item: Rehearsed) -> dict[str, Any]:
    assembly = item.assembly
    return {"path": str(item.container), "image": assembly.image, **_result(assembly)}


def _result(assembly: Assembly) -> dict[str, Any]:
    kernels = assembly.kernels
    return {
        "arch": f"sm_{assembly.arch}",
        "result": assembly.ending.value,
        "reason": assembly.reason or None,
        "ptx_sha256": assembly.sha256 or None,
        "ptx_size": assembly.size,
        "cubin_size": assembly.cubin,
        "jit_seconds": round(assembly.seconds, 3),
        "kernels": len(kernels),
        "registers": max((kernel.registers or 0 for kernel in kernels), default=0),
        "static_shared": max((kernel.static_shared or 0 for kernel in kernels), default=0),
        "spilled": assembly.spilled,
        "complaints": [
            {"rule": said.rule, "text": said.text, "line": said.line or None, "kernel": said.kernel or None}
            for said in assembly.complaints
        ],
        "more_complaints": assembly.more,
    }
