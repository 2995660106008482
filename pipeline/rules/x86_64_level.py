"""A host file needs a newer x86-64 processor than the declared host has.

What: the property note of a program or library (.note.gnu.property, x86 ISA needed) asks for x86-64-v2, v3 or v4, and
the host is declared with a lower level. Files below a glibc-hwcaps folder are for processors of that level and do not
count; what exists only there is not found on others (needed-library). A file without the note may use any instruction
all the same: instructions are not decoded here.

Why: distributions and build flags raise the level (-march=x86-64-v3, -march=native). The dynamic linker says "CPU ISA
level is lower than required", and where there is no note, the process ends with SIGILL.

Remedy: build for the baseline and dispatch at run time (ggml: -DGGML_NATIVE=OFF -DGGML_CPU_ALL_VARIANTS=ON), or raise
the promised level.

Source: x86-64 psABI, micro-architecture levels; ld.so(8), glibc-hwcaps; glibc 2.33 release notes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.model.cpu import CpuLevel
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts
    from pipeline.rules.subject import Subject

RULE = "x86-64-level"
_HWCAPS = re.compile(r"(?:^|/)glibc-hwcaps/x86-64-v([2-4])/", re.ASCII)


def check(subject: Subject) -> Examination:
    """Every file whose note asks for more than the host's processor has."""
    if subject.host is None or subject.host.cpu is None:
        return Examination(0, (), "no host processor is declared (--host cpu=x86-64-v2)")
    stated = [elf for elf in subject.elves if elf.isa_level and elf.machine == "x86_64"]
    if not stated:
        return Examination(0, (), "no member states an x86-64 level; instructions are not decoded")
    return Examination(len(stated), tuple(_claims(subject, stated, subject.host.cpu)))


def _claims(subject: Subject, stated: list[ElfFacts], floor: CpuLevel) -> Iterator[Claim]:
    for elf in stated:
        folder = _HWCAPS.search(elf.path.name)
        if elf.isa_level > max(floor, int(folder[1]) if folder else 0):
            level = CpuLevel(elf.isa_level)
            yield Claim(
                rule=RULE,
                effect=Effect.FAIL,
                path=str(elf.path),
                declared=f"a processor of {floor}",
                observed=f"its property note needs {level}",
                remedy=f"build for {floor} and dispatch at run time, or raise the promised level to {level}",
                targets=subject.labels,
                group=str(level),
            )
