"""What assemblers said about the PTX that drivers would compile, as values: rules judge them, reports print them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.formats.facts import KernelFacts
    from pipeline.model.paths import MemberPath


class Ending(StrEnum):
    """How the attempt to assemble one PTX text ended. Only the first two say anything about the text.

    There is no assembler, or it could not be fetched, are two things: a network mends the second.
    """

    ACCEPTED = "accepted"
    REFUSED = "refused"
    TIME_LIMIT = "time-limit"
    MEMORY_LIMIT = "memory-limit"
    OUTPUT_LIMIT = "output-limit"
    CRASHED = "crashed"
    NO_ASSEMBLER = "no-assembler"
    NOT_FETCHED = "not-fetched"
    NOT_READ = "not-read"

    @property
    def tells(self) -> bool:
        """Whether the text was judged at all."""
        return self in {Ending.ACCEPTED, Ending.REFUSED}


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing for which an assembler refuses a text: the rule that it breaks, and its own words.

    ``line`` counts from 1, ``kernel`` is the function around it, mangled; 0 and empty where it does not say.
    ``excess`` is the size in bytes of a kernel's static shared memory where that is what is wrong.
    """

    rule: str
    text: str
    line: int = 0
    kernel: str = ""
    excess: int = 0


@dataclass(frozen=True, slots=True)
class Assembler:
    """The program that stands for a driver's JIT.

    ``name`` is ``ptxas 12.2.140``, ``cuda`` its CUDA version and ``driver_cuda`` the driver's: where the two differ it
    stands in for one that does not exist. ``reads`` is the newest PTX ISA that both know, ``sha256`` the wheel's.
    """

    name: str
    cuda: str
    driver_cuda: str
    reads: str
    sha256: str

    @property
    def words(self) -> str:
        """For people: ``ptxas 12.9.86 in place of CUDA 13.0``."""
        return self.name if self.cuda == self.driver_cuda else f"{self.name} in place of CUDA {self.driver_cuda}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """One PTX text assembled for one SM, or the attempt.

    ``seconds`` is processor time, about what a driver's JIT takes at the first start; ``spilled`` the bytes that
    registers spill to and from memory; ``size`` and ``cubin`` the bytes of text and machine code. ``more`` counts
    complaints that are not listed. All of it is zero where nothing was assembled.
    """

    image: str
    sha256: str
    arch: str
    ending: Ending
    reason: str = ""
    complaints: tuple[Complaint, ...] = ()
    more: int = 0
    kernels: tuple[KernelFacts, ...] = ()
    seconds: float = 0.0
    spilled: int = 0
    size: int = 0
    cubin: int = 0


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A container that a target's driver would compile, and what came of it."""

    container: MemberPath
    library: MemberPath
    assembly: Assembly


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRehearsal:
    """All containers of one target that would be compiled.

    ``assembler`` is ``None`` where there is none, or where nothing would be compiled; ``served`` counts all
    containers that the target takes, and ``idle`` says why nothing was assembled where that is so.
    """

    target: str
    sm: int
    assembler: Assembler | None
    containers: tuple[Rehearsed, ...]
    served: int
    idle: str = ""

    @property
    def seconds(self) -> float:
        """Processor time of all its containers: what a user waits once, in all."""
        return sum(item.assembly.seconds for item in self.containers)

    def count(self, ending: Ending) -> int:
        """How many of its containers ended so."""
        return sum(item.assembly.ending is ending for item in self.containers)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What was rehearsed for each target; ``seconds`` on the clock with so many ``workers`` at the same time."""

    targets: tuple[TargetRehearsal, ...]
    seconds: float
    workers: int

    @property
    def examined(self) -> int:
        """Containers whose PTX was judged by an assembler, counted for each target."""
        return sum(item.assembly.ending.tells for target in self.targets for item in target.containers)
