"""Files that only other machines load: backends of other accelerators, plugins for networks and media libraries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.formats.facts import ElfFacts
    from pipeline.policy import Policy


def stack_of(elf: ElfFacts, policy: Policy) -> str:
    """The stack (``another accelerator``) without which nobody opens this library; nothing for all others.

    A file with device code counts always.
    """
    if elf.has_device_code or elf.interpreter is not None:
        return ""
    for row in policy.optional_stacks:
        if any(re.fullmatch(row.pattern, name) for name in elf.needed):
            return row.stack
    return ""
