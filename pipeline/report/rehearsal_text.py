"""What was rehearsed, for people: what stood for the driver, how it ended, how long users wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.assembly import Ending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.rules.assembly import Rehearsal, TargetRehearsal


def rehearsal_lines(rehearsal: Rehearsal) -> Iterator[str]:
    """One line for each target, and one that says what the seconds mean."""
    for target in rehearsal.targets:
        yield f"rehearsed  {target.target}  {target.idle or _told(target)}"
    if rehearsal.examined:
        yield f"  JIT seconds are those of one processor of this machine, at the first start; {_took(rehearsal)}"
    yield ""


def _told(target: TargetRehearsal) -> str:
    counts = ", ".join(f"{target.count(ending)} {ending.value}" for ending in Ending if target.count(ending))
    by = f" by {target.assembler.words}" if target.assembler else ""
    slowest = max((item.assembly.seconds for item in target.containers), default=0.0)
    times = f"; JIT {target.seconds:.1f} s, the longest {slowest:.1f} s" if target.seconds else ""
    return f"{counts} of {len(target.containers)} PTX{by}{times}"


def _took(rehearsal: Rehearsal) -> str:
    return f"the rehearsal took {rehearsal.seconds:.1f} s with {rehearsal.workers} at a time"
