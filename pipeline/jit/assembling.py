"""The last step of every language: PTX to machine code, by the ptxas of the product or the one nearest to a driver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.binary import FormatError, open_view
from pipeline.formats.budgets import STANDARD
from pipeline.formats.cubin import read_cubin
from pipeline.formats.ptx import read_ptx
from pipeline.jit.compilation import Compilation, Refusal, refused
from pipeline.jit.places import Places
from pipeline.jit.running import limits_of, run_one
from pipeline.jit.words import COMPILE, of_assembler
from pipeline.model.versions import ToolkitVersion
from pipeline.rehearse.judged import Judged
from pipeline.rules.assembly import Assembly, Ending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.jit.toolbox import Assembling
    from pipeline.model.versions import PtxVersion
    from pipeline.policy.jit import JitTables

_NO_KERNEL = "it compiles, and no kernel comes out: list template instances under 'instances'"


@dataclass(frozen=True, slots=True)
class Names:
    """Turns paths that compilers write into those of the product. ``bases`` are the folders that it lies in."""

    bases: tuple[Path, ...]
    otherwise: str

    def shown(self, name: str) -> str:
        """The path below one of the folders; the bare name of a header from elsewhere."""
        path = Path(name)
        for base in self.bases:
            if path.is_relative_to(base):
                return str(path.relative_to(base))
        return path.name or self.otherwise


@dataclass(frozen=True, slots=True)
class Assembler:
    """One ptxas for one compilation. ``options`` are the product's own."""

    program: Assembling
    tables: JitTables
    names: Names
    options: Sequence[str] = ()

    def assemble(self, attempt: Compilation, ptx: Path, folder: Path) -> Compilation:
        """What became of ``attempt``, whose PTX lies in ``ptx``; ``OSError`` where ptxas cannot be started."""
        limits = limits_of(attempt.source)
        command = (
            str(self.program.path),
            "-v",
            "-arch",
            f"sm_{attempt.arch}",
            *self.options,
            "-o",
            "out.cubin",
            str(ptx),
        )
        ended = run_one(command, folder, limits)
        nothing = Assembly(image="", sha256="", arch=attempt.arch, ending=Ending.NOT_READ)
        assembly = Judged(limits).judge(nothing, ended, ptx, folder / "out.cubin")
        text = ptx.read_text(encoding="utf-8", errors="replace")
        known = replace(attempt, seconds=attempt.seconds + assembly.seconds, toolkit=self.program.toolkit)
        known = replace(known, ptx=_version(text))
        if assembly.ending is Ending.REFUSED:
            places = Places.of(text)
            refusals = of_assembler(assembly.complaints, places, self.names.shown, self.tables, attempt.arch)
            return refused(known, *refusals)
        if assembly.ending is not Ending.ACCEPTED:
            return replace(known, ending=assembly.ending, reason=f"{self.program.name}: {assembly.reason}")
        if not assembly.kernels:
            return refused(known, Refusal(rule=COMPILE, text=_NO_KERNEL, place=attempt.file))
        toolkit = known.toolkit or _toolkit(folder / "out.cubin")
        return replace(known, ending=Ending.ACCEPTED, kernels=assembly.kernels, toolkit=toolkit)


def _version(text: str) -> PtxVersion | None:
    try:
        return read_ptx(text.encode()).version
    except FormatError:
        return None


def _toolkit(cubin: Path) -> ToolkitVersion | None:
    """The CUDA version that wrote the machine code."""
    try:
        with open_view(cubin) as view:
            number = read_cubin(view, STANDARD).toolkit
    except FormatError:
        return None
    return ToolkitVersion(f"{number // 10}.{number % 10}") if number else None
