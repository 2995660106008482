"""From a line of PTX to the line of source that it came from, by the ``.loc`` and ``.file`` directives in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_FILE = re.compile(r'^\s*\.file\s+(?P<number>[0-9]{1,6})\s+"(?P<name>[^"]{1,4096})"', re.MULTILINE)
_LOC = re.compile(r"^\s*\.loc\s+(?P<file>[0-9]{1,6})\s+(?P<line>[0-9]{1,9})\s")
_KERNEL = re.compile(r"\.(?:entry|func)\b[^(;{]{0,512}?\b(?P<name>[A-Za-z_$%][A-Za-z0-9_$]{0,4096})\s*\(")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is. ``file`` is as the compiler wrote it, empty with line 0 where the PTX does not say."""

    file: str
    line: int
    kernel: str
    instruction: str


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one PTX text."""

    lines: Sequence[str]
    files: dict[str, str]

    @classmethod
    def of(cls, text: str) -> Places:
        """Read a text."""
        return cls(text.splitlines(), {found["number"]: found["name"] for found in _FILE.finditer(text)})

    def at(self, line: int) -> Place:
        """Where line ``line`` (from 1) comes from: the nearest directive before it, in the same function."""
        instruction = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        file, number, kernel = "", 0, ""
        for before in reversed(self.lines[: max(line - 1, 0)]):
            if not number and not kernel and (loc := _LOC.match(before)):
                file, number = self.files.get(loc["file"], ""), int(loc["line"])
            if entry := _KERNEL.search(before):
                kernel = entry["name"]
                break
        return Place(file, number, kernel, " ".join(instruction.split())[:300])
