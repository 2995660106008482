"""Triton kernels to PTX for a GPU that is not here, and through its own ptxas, or a toolkit's, to machine code."""

from __future__ import annotations

import ast
import json
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.jit.assembling import Assembler, Names
from pipeline.jit.compilation import Compilation, Refusal, refused
from pipeline.jit.running import given_up, limits_of, run_one
from pipeline.jit.words import COMPILE

if TYPE_CHECKING:
    from pipeline.jit.toolbox import Assembling
    from pipeline.policy.jit import JitTables
    from pipeline.rehearse.running import Ended

_PROGRAM = Path(__file__).with_name("triton_program.py")
_ENV = "/usr/bin/env"
_RAISED = re.compile(r"^(?P<error>[A-Za-z_][A-Za-z0-9_.]*(?:Error|Exception|Exit)\b.*)", re.MULTILINE | re.DOTALL)
_AT = re.compile(r"\bat (?P<line>[0-9]{1,9}):[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TritonTask:
    """One kernel for one architecture. ``folder`` holds Triton, ``root`` is where the source's paths begin."""

    attempt: Compilation
    root: Path
    triton: Path
    assembler: Assembling
    tables: JitTables

    def compile(self, folder: Path) -> Compilation:
        """Compile in the empty ``folder``; ``OSError`` where no process can be started."""
        limits = limits_of(self.attempt.source)
        self._write_job(folder)
        ended = run_one(self._command(folder), folder, limits)
        attempt = replace(self.attempt, seconds=ended.seconds)
        if ended.status == 1 and not ended.stopped and "MemoryError" not in ended.output:
            return refused(attempt, self._raised(ended))
        stopped = given_up(ended, limits, self.attempt.compiler.partition(",")[0])
        if stopped is not None:
            return replace(attempt, ending=stopped[0], reason=stopped[1])
        told: dict[str, Any] = json.loads((folder / "out.json").read_text(encoding="utf-8"))
        attempt = replace(attempt, dynamic_shared=int(told["shared"]))
        names = Names((self.root, folder), self.attempt.file)
        return Assembler(self.assembler, self.tables, names).assemble(attempt, folder / "out.ptx", folder)

    def _command(self, folder: Path) -> tuple[str, ...]:
        # Triton takes its settings from the environment only; the assembler tells it which PTX ISA to write.
        settings = (f"TRITON_CACHE_DIR={folder}/cache", f"HOME={folder}", f"TRITON_PTXAS_PATH={self.assembler.path}")
        return (_ENV, *settings, sys.executable, "-I", "-S", str(_PROGRAM), str(self.triton))

    def _write_job(self, folder: Path) -> None:
        source = self.attempt.source
        options = dict(option.partition("=")[::2] for option in source.options)
        job = {
            "source": str(self.root / self.attempt.file),
            "entry": source.entry,
            "signature": source.signature,
            "constants": {name: _value(text) for name, text in source.constants.items()},
            "options": {name: _value(text) for name, text in options.items()},
            "stubs": list(source.stubs),
            "sm": self.attempt.sm,
        }
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")

    def _raised(self, ended: Ended) -> Refusal:
        """What Triton raised; a compilation error names a line of the kernel, counted from where that begins."""
        errors = [*_RAISED.finditer(ended.output)]
        words = " ".join((errors[-1]["error"] if errors else ended.output[-500:]).split())[:500]
        at, place = _AT.search(words), self.attempt.file
        if at:
            place = f"{place}:{_line_of(self.root / place, self.attempt.source.entry) + int(at['line']) - 1}"
        return Refusal(rule=COMPILE, text=words, place=place, kernel=self.attempt.source.entry)


def _line_of(path: Path, entry: str) -> int:
    """The line in which the function begins, its decorators left out, as Triton counts; 1 where it is not found."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
    except (SyntaxError, ValueError):
        return 1
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == entry)
    return next((node.lineno for node in functions), 1)


def _value(text: str) -> Any:
    """A number, truth or text as Python writes them; anything else is text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, bool | int | float | str) or value is None else text
