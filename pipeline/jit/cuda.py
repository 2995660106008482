"""CUDA C++ through NVRTC to PTX, and through the same toolkit's ptxas to machine code."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.jit.assembling import Assembler, Names
from pipeline.jit.compilation import Compilation, Refusal, refused
from pipeline.jit.running import given_up, limits_of, run_one
from pipeline.jit.words import COMPILE, FEATURE, of_front_end
from pipeline.rules.assembly import Ending

if TYPE_CHECKING:
    from pipeline.jit.toolbox import Assembling
    from pipeline.policy.jit import JitTables
    from pipeline.rehearse.running import Ended

_PROGRAM = Path(__file__).with_name("nvrtc_program.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaTask:
    """One file for one architecture by one toolkit. ``root`` is the folder that the source's paths begin in.

    ``later`` are the toolkit's architectures after this one: where the compiler does not say which has what it
    misses, the first of them that compiles does.
    """

    attempt: Compilation
    root: Path
    library: Path
    headers: tuple[Path, ...]
    assembler: Assembling
    later: tuple[str, ...]
    tables: JitTables

    def compile(self, folder: Path) -> Compilation:
        """Compile in the empty ``folder``; ``OSError`` where no process can be started."""
        limits = limits_of(self.attempt.source)
        ended = self._nvrtc(self.attempt.arch, folder)
        attempt = replace(self.attempt, seconds=ended.seconds)
        stopped = given_up(ended, limits, self.attempt.compiler.partition(",")[0])
        if stopped is not None:
            return replace(attempt, ending=stopped[0], reason=stopped[1])
        names = Names((self.root, folder), self.attempt.file)
        if ended.status:
            return refused(attempt, *self._refusals(ended, names, folder))
        return Assembler(self.assembler, self.tables, names).assemble(attempt, folder / "out.ptx", folder)

    def _nvrtc(self, arch: str, folder: Path) -> Ended:
        source, path = self.attempt.source, self.root / self.attempt.file
        options = [f"-arch=compute_{arch}", "-lineinfo"]
        options += [f"-I{self.root / name}" for name in source.include] + [f"-I{path.parent}"]
        options += [f"-I{header}" for header in self.headers]
        options += [f"-D{name}={value}" for name, value in source.defines.items()]
        job = {
            "name": str(path),
            "source": str(path),
            "options": [*options, *source.options],
            "instances": list(source.instances),
        }
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = (sys.executable, "-I", "-S", str(_PROGRAM), str(self.library))
        return run_one(command, folder, limits_of(source))

    def _refusals(self, ended: Ended, names: Names, folder: Path) -> tuple[Refusal, ...]:
        found = of_front_end(ended.output, names.shown, self.tables, self.attempt.arch)
        if not found:
            words = " ".join(ended.output.split())[-300:] or "refused without a word"
            found = (Refusal(rule=COMPILE, text=words, place=self.attempt.file),)
        if all(refusal.first for refusal in found):
            return found
        first = next((arch for arch in self.later if self._compiles(arch, folder)), "")
        if not first:
            return found
        return tuple(each if each.first else replace(each, rule=FEATURE, first=first) for each in found)

    def _compiles(self, arch: str, folder: Path) -> bool:
        return self._nvrtc(arch, folder).status == 0


def untried(attempt: Compilation, rule: str, text: str) -> Compilation:
    """An attempt that cannot be made: the compiler does not know the architecture."""
    refusal = Refusal(rule=rule, text=text, place=attempt.file)
    return replace(attempt, ending=Ending.REFUSED, reason=text, refusals=(refusal,))
