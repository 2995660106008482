"""One source file compiled for one GPU by one compiler, or the attempt: what came out, or why it was refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.rules.assembly import Ending

if TYPE_CHECKING:
    from pipeline.formats.facts import KernelFacts
    from pipeline.model.jit import JitSource
    from pipeline.model.versions import PtxVersion, ToolkitVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One thing for which a compiler refuses a source.

    ``rule`` explains it, ``text`` are the compiler's words, ``place`` is ``kernels/a.cu:12``. ``instruction`` is the
    line of PTX, ``feature`` its name in the policy tables, ``first`` the architecture that has it first (``75``,
    ``90a``); each is empty where it is not known. ``size`` is shared memory in bytes where that is what is wrong.
    """

    rule: str
    text: str
    place: str
    instruction: str = ""
    kernel: str = ""
    feature: str = ""
    first: str = ""
    size: int = 0

    def to_json(self) -> dict[str, Any]:
        """Every field by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """What became of ``file`` of ``source`` for ``arch`` (``61``, ``90a``) on GPUs of ``sm``.

    ``compiler`` names the programs. ``toolkit`` is the CUDA version of the machine code, ``ptx`` the ISA of the PTX;
    ``dynamic_shared`` are bytes that a launch asks for, ``seconds`` processor time. Kernels are those of the machine
    code, none unless it was accepted. ``only_for`` are the targets whose driver it stands for; none means all.
    """

    source: JitSource
    file: str
    sm: int
    arch: str
    compiler: str
    ending: Ending
    reason: str = ""
    refusals: tuple[Refusal, ...] = ()
    kernels: tuple[KernelFacts, ...] = ()
    dynamic_shared: int = 0
    seconds: float = 0.0
    toolkit: ToolkitVersion | None = None
    ptx: PtxVersion | None = None
    only_for: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The compilation's row in the ``jit`` part of a document."""
        return {
            "source": self.source.name,
            "language": self.source.language.value,
            "file": self.file,
            "sm": str(self.sm),
            "arch": f"sm_{self.arch}",
            "compiler": self.compiler,
            "ending": self.ending.value,
            "reason": self.reason or None,
            "seconds": round(self.seconds, 3),
            "toolkit": str(self.toolkit) if self.toolkit is not None else None,
            "ptx": str(self.ptx) if self.ptx is not None else None,
            "refusals": [refusal.to_json() for refusal in self.refusals],
            "kernels": [self._kernel(kernel) for kernel in self.kernels],
        }

    def _kernel(self, kernel: KernelFacts) -> dict[str, Any]:
        return {
            "name": kernel.name,
            "registers": kernel.registers,
            "threads": kernel.threads,
            "static_shared": kernel.static_shared,
            "dynamic_shared": self.dynamic_shared,
        }


def refused(attempt: Compilation, *refusals: Refusal, seconds: float = 0.0) -> Compilation:
    """The attempt with what the compiler had against it."""
    from dataclasses import replace

    return replace(
        attempt, ending=Ending.REFUSED, reason=refusals[0].text, refusals=refusals, seconds=attempt.seconds + seconds
    )
