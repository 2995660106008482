"""An import that the driver's libcuda does not export.

What: a library or program imports a driver entry point (not weakly) that the target's driver does not have yet, for
instance cuCtxCreate_v4 (CUDA 12.5) on R535. An entry point that the tables do not know is "unknown" where the file
names libcuda.so.1 as its library: it may be newer than they are, or a typing error.

Why: the dynamic linker refuses the library ("undefined symbol"), or the first call ends the process. Libraries that
ask for entry points at run time (cuGetProcAddress, dlsym) are not affected.

Remedy: look the entry point up at run time and do without it, link it weakly, build against the floor's toolkit, or
raise the driver floor.

Source: measured: cudaTypedefs.h of 17 toolkits against the exports of eight real libcuda; vLLM issue 11623.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.policy.unknown import OutsidePolicy
from pipeline.rules.nvidia import is_toolkit_library
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts, SymbolNeed
    from pipeline.rules.subject import Aim, Subject

RULE = "libcuda-symbol"
_ENTRY_POINT = re.compile(r"cu[A-Z]\w*", re.ASCII)
_LIBRARY = "libcuda.so.1"


def check(subject: Subject) -> Examination:
    """Every strong import of an entry point that a target's driver lacks."""
    # A member that exports entry points itself serves the others; that it shadows libcuda is another rule's matter.
    own = {name for elf in subject.elves if elf.soname != _LIBRARY for name in elf.driver_exports}
    imports = [(elf, need) for elf in subject.elves for need in _driver_imports(elf) if need.name not in own]
    if not imports:
        return Examination(0, (), "no member imports driver entry points")
    if not subject.aims:
        return Examination(len(imports), (), "no target was named")
    return Examination(len(imports), tuple(_claims(subject, imports)))


def _driver_imports(elf: ElfFacts) -> Iterator[SymbolNeed]:
    """What the file wants of libcuda; it may leave the loading of it to another member of the process."""
    for need in elf.imports:
        if need.library in {None, _LIBRARY} and not need.weak and _ENTRY_POINT.fullmatch(need.name):
            yield need


def _claims(subject: Subject, imports: list[tuple[ElfFacts, SymbolNeed]]) -> Iterator[Claim]:
    for elf, need in imports:
        for aim in subject.aims:
            if aim.doubt is None and elf.path not in aim.set_aside:
                known = need.name in subject.policy.symbols
                claim = _claim(subject, elf, need, aim) if known else _doubt(subject, elf, need, aim)
                if claim is not None:
                    yield claim


def _doubt(subject: Subject, elf: ElfFacts, need: SymbolNeed, aim: Aim) -> Claim | None:
    """A warning where a library of the product's own, whose exports are not read, may be what brings it."""
    if _LIBRARY not in {need.library, *elf.needed}:
        return None
    members = {other.soname or other.path.name for other in subject.elves}
    brought = any(name in members and not is_toolkit_library(name) for name in elf.needed)
    return Claim(
        rule=RULE,
        effect=Effect.WARNING if brought else Effect.DOUBT,
        path=str(elf.path),
        declared=f"driver >= {aim.target.driver}",
        observed=f"imports {need.name}, an entry point that the tables of {subject.policy.date} do not know",
        remedy="look the entry point up at run time, or link it weakly",
        targets=(aim.label,),
        group=str(elf.path),
    )


def _claim(subject: Subject, elf: ElfFacts, need: SymbolNeed, aim: Aim) -> Claim | None:
    policy = subject.policy
    since = policy.symbol_since(need.name)
    if since is not None and since <= policy.cuda_of(aim.target.driver):
        return None
    floor = "no Linux driver"
    if since is not None:
        try:
            floor = f"driver >= {policy.first_driver_with_cuda(since)} (CUDA {since})"
        except OutsidePolicy:
            floor = f"CUDA {since}"
    return Claim(
        rule=RULE,
        effect=Effect.FAIL,
        path=str(elf.path),
        declared=f"driver >= {aim.target.driver}",
        observed=f"imports {need.name}, which needs {floor}",
        remedy="look the entry point up at run time, link it weakly, or raise the floor",
        targets=(aim.label,),
        group=str(elf.path),
    )
