"""PTX text that a product hands to the driver, assembled by the ptxas nearest to that driver's JIT, or a toolkit's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.jit.assembling import Assembler, Names

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.jit.compilation import Compilation
    from pipeline.jit.toolbox import Assembling
    from pipeline.policy.jit import JitTables


@dataclass(frozen=True, slots=True, kw_only=True)
class PtxTask:
    """One text for one architecture by one assembler."""

    attempt: Compilation
    root: Path
    assembler: Assembling
    tables: JitTables

    def compile(self, folder: Path) -> Compilation:
        """Assemble in the empty ``folder``; ``OSError`` where no process can be started."""
        names = Names((self.root, folder), self.attempt.file)
        assembler = Assembler(self.assembler, self.tables, names, self.attempt.source.options)
        return assembler.assemble(self.attempt, self.root / self.attempt.file, folder)
