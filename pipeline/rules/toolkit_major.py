"""Code of a newer CUDA major than the driver.

What: the cubin the driver would take, or a CUDA library that the bundle links (cudart, cuBLAS …), is of a CUDA major
that needs a newer driver: 11.x needs 450.80.02, 12.x needs 525.60.13, 13.x needs 580.65.06. Where an artifact is
nothing but NVIDIA's libraries, they are judged themselves.

Why: minor version compatibility holds within one major. Cubins of a newer major are refused as "device kernel image
is invalid" (200), and the runtime library answers "CUDA driver version is insufficient for CUDA runtime version" (35).

Remedy: build a lane with a toolkit of the driver's major beside this one, or raise the driver floor. Data-center GPUs
can use a forward-compatibility package instead.

Source: CUDA Compatibility, minor version compatibility; triton issue 3001 (CUDA 12 cubin on R470).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.policy.unknown import UnknownToolkit
from pipeline.rules.device import Told, device_claims
from pipeline.rules.nvidia import nothing_but_toolkit_libraries
from pipeline.rules.obstacle import Certainty, Obstacle
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.policy.rows import CudaSoname
    from pipeline.rules.subject import Aim, Subject
    from pipeline.rules.unit import Image

RULE = "toolkit-major"
_ERROR = "CUDA_ERROR_INVALID_IMAGE"
_REMEDY = "build a lane with the driver's CUDA major, or raise the floor to {floor}"
_RUNTIME_ERROR = "cudaErrorInsufficientDriver"


def obstacle(image: Image, driver: DriverVersion, policy: Policy) -> Obstacle | None:
    """Whether ``image`` is a cubin of a newer major than ``driver`` serves.

    Where the header leaves two majors open, the lower one decides what is certain and the higher one what is safe.
    """
    try:
        floors = [policy.cubin_floor(major) for major in image.majors]
    except UnknownToolkit as error:
        return Obstacle(RULE, _ERROR, f"{image.what}: {error.message}", None, Certainty.DOUBT)
    if not floors or driver >= max(floors):
        return None
    certainty = Certainty.CERTAIN if driver < min(floors) else Certainty.DOUBT
    majors = " or ".join(str(major) for major in image.majors)
    observed = f"{image.what} of CUDA {majors} needs driver >= {max(floors)}"
    return Obstacle(RULE, _ERROR, observed, max(floors), certainty)


def check(subject: Subject) -> Examination:
    """Every unit and every linked CUDA runtime of a newer major than the target's driver."""
    linked = [*_linked(subject), *runtimes(subject)]
    claims = (*device_claims(subject, RULE, _told), *_runtime_claims(subject, linked))
    if not subject.aims:
        return Examination(0, (), "no target was named")
    if not subject.units and not linked:
        return Examination(0, (), "neither device code nor a linked CUDA runtime in the input")
    return Examination(subject.entries + len(linked), claims)


def _linked(subject: Subject) -> Iterator[tuple[ElfFacts, CudaSoname, str]]:
    """Files that need a CUDA library which asks for a driver."""
    libraries = subject.policy.cuda_sonames
    for elf in subject.elves:
        for name in elf.needed:
            if name in libraries and libraries[name].needs_driver:
                yield elf, libraries[name], "needs"


def runtimes(subject: Subject) -> tuple[tuple[ElfFacts, CudaSoname, str], ...]:
    """CUDA libraries themselves, where an artifact is nothing else: beside a product only what links them counts."""
    if not nothing_but_toolkit_libraries(subject.elves):
        return ()
    libraries = subject.policy.cuda_sonames
    own = ((elf, libraries[elf.soname]) for elf in subject.elves if elf.soname in libraries)
    return tuple((elf, library, "is") for elf, library in own if library.needs_driver)


def _told(aim: Aim, met: Obstacle) -> Told:
    floor = met.floor or "one that the tables list"
    return Told(f"driver >= {aim.target.driver}", _REMEDY.format(floor=floor))


def _runtime_claims(subject: Subject, linked: list[tuple[ElfFacts, CudaSoname, str]]) -> Iterator[Claim]:
    for elf, library, how in linked:
        floor = subject.policy.cubin_floor(library.major)
        for aim in subject.aims:
            if aim.doubt is None and aim.target.driver < floor and elf.path not in aim.set_aside:
                yield Claim(
                    rule=RULE,
                    effect=Effect.FAIL,
                    path=str(elf.path),
                    declared=f"driver >= {aim.target.driver}",
                    observed=f"{how} {library.soname}, whose CUDA {library.major} needs driver >= {floor}",
                    remedy=_REMEDY.format(floor=floor),
                    targets=(aim.label,),
                    error=_RUNTIME_ERROR,
                    group=library.soname,
                )
