"""A CUDA bundle without CUDA code.

What: ELF files are there, but none of the product's own has device code. NVIDIA's libraries beside it do not count,
nor does the kernel-less ELF that nvcc links into every program. A package of NVIDIA's libraries alone (cudart, NVRTC)
is no product: without a lane that declares CUDA, its CUDA runtime is judged by `toolkit-major`, and where nothing in it
depends on a driver the answer is "unknown".

Why: the build fell back to the CPU (CMake did not find the toolkit, the CUDA option was not passed on), and the result
still carries the CUDA name. It starts and answers, slowly.

Remedy: make the build fail without CUDA (ggml: -DGGML_CUDA=ON and check CMAKE_CUDA_COMPILER), or publish it as a CPU
flavour. What needs no device code is audited without --target.

Source: llama-cpp-python issue 1990 (a wheel tagged cu118 without CUDA).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.target import Flavour
from pipeline.rules.nvidia import is_toolkit_library, nothing_but_toolkit_libraries
from pipeline.rules.subject import Claim, Effect, Examination
from pipeline.rules.toolkit_major import runtimes

if TYPE_CHECKING:
    from pipeline.rules.subject import Subject

RULE = "cpu-flavour"


def check(subject: Subject) -> Examination:
    """Whether a CUDA promise is made and nothing in the product keeps it."""
    declared = subject.declaration.flavour if subject.declaration is not None else None
    if declared is Flavour.CPU or (declared is None and not subject.aims):
        lane = "a lane of the cpu flavour promises no device code"
        return Examination(0, (), lane if declared is Flavour.CPU else "neither a target nor a CUDA lane was named")
    members = len(subject.elves) + subject.containers
    if not members:
        return Examination(_files(subject), (_nothing(subject),))
    if subject.units and not _only_toolkit_libraries(subject):
        return Examination(members)
    if subject.declaration is not None and subject.declaration.compiles:
        return Examination(members, (), "the lane's jit_sources are its device code: check jit compiles them")
    if declared is None and not subject.units and nothing_but_toolkit_libraries(subject.elves):
        return _no_product(subject, members)
    where = subject.inventories[0].root
    observed = "no device code" if not subject.units else "device code only in NVIDIA's own libraries"
    claim = Claim(
        rule=RULE,
        effect=Effect.FAIL,
        path=where,
        declared="CUDA code for " + (", ".join(subject.labels) or "a CUDA lane"),
        observed=f"{observed} in {len(subject.elves)} ELF files" + _left_out(subject),
        remedy="make the build fail without CUDA (ggml: -DGGML_CUDA=ON), or publish it as a CPU flavour "
        "(audited without a target)",
        count=max(len(subject.elves), 1),
        targets=subject.labels,
        error="CUDA_ERROR_NO_BINARY_FOR_GPU",
    )
    return Examination(members, (claim,))


def _no_product(subject: Subject, members: int) -> Examination:
    """NVIDIA's libraries alone: no code of theirs is missing. Where none depends on a driver, nothing can be said."""
    judged = bool(runtimes(subject))
    claim = Claim(
        rule=RULE,
        effect=Effect.NOTE if judged else Effect.DOUBT,
        path=subject.inventories[0].root,
        declared="CUDA code for " + ", ".join(subject.labels),
        observed="NVIDIA's own libraries alone: "
        + ("only their driver is judged" if judged else "nothing in them depends on a GPU or driver"),
        remedy="audit them together with the program that uses them",
        count=members,
        targets=subject.labels,
    )
    return Examination(members, (claim,), "no product is in the input" if judged else None)


def _files(subject: Subject) -> int:
    return sum(max(inventory.members, 1) for inventory in subject.inventories)


def _nothing(subject: Subject) -> Claim:
    """Neither ELF nor device code: what a driver is given as an image is none."""
    return Claim(
        rule=RULE,
        effect=Effect.FAIL,
        path=subject.inventories[0].root,
        declared="CUDA code for " + (", ".join(subject.labels) or "a CUDA lane"),
        observed=f"neither ELF nor device code in {_files(subject)} files",
        remedy="name the bundle or the library itself",
        count=_files(subject),
        targets=subject.labels,
        error="CUDA_ERROR_INVALID_IMAGE",
    )


def _left_out(subject: Subject) -> str:
    device = subject.device
    parts = ((device.stubs, "kernel-less link stubs"), (device.relocatable, "relocatable containers"))
    named = ", ".join(f"{count} {what}" for count, what in parts if count)
    return f" ({named} do not count)" if named else ""


def _only_toolkit_libraries(subject: Subject) -> bool:
    """All device code is NVIDIA's, while a member that calls itself CUDA has none."""
    if not all(is_toolkit_library(unit.library.name) for unit in subject.units):
        return False
    own = [elf for elf in subject.elves if not is_toolkit_library(elf.path.name)]
    return any("cuda" in elf.path.name.rpartition("/")[2].lower() for elf in own)
