"""Files that only other machines load: backends of other accelerators, plugins for networks and media libraries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.formats.facts import ElfFacts
    from pipeline.rules.subject import Subject


def stack_of(elf: ElfFacts, subject: Subject) -> str:
    """The stack (``another accelerator``) without which nobody opens this library; nothing for all others.

    A file with kernels counts always; what nvcc writes into files without any does not make it one.
    """
    if elf.interpreter is not None or any(unit.library == elf.path for unit in subject.units):
        return ""
    for row in subject.policy.optional_stacks:
        if any(re.fullmatch(row.pattern, name) for name in elf.needed):
            return row.stack
    return ""
