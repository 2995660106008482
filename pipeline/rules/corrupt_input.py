"""A member that is truncated, damaged or hostile.

What: a file could not be read as what it claims to be (a short read, a size that overflows, a container that overlaps
itself), an archive escapes its root or expands without end, an entry that the driver would take holds an ELF for
another GPU than it says, or, under --deep, a payload does not unpack.

Why: what cannot be read cannot be judged, and a driver would refuse it: a damaged image is "device kernel image is
invalid" (200), a damaged compressed payload "unknown error" (999).

Remedy: build or download the artifact again and compare its digest.

Source: measured: H200 with driver 580.159.04, damaged containers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.rules.device import Told, device_claims
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from pipeline.rules.obstacle import Obstacle
    from pipeline.rules.subject import Aim, Subject

RULE = "corrupt-input"
_REMEDY = "build or download the artifact again and compare its digest"
_ERROR = "CUDA_ERROR_INVALID_IMAGE"


def check(subject: Subject) -> Examination:
    """Every damaged member, and every chosen image whose payload is damaged."""
    payloads = _damaged_payloads(subject)
    members = tuple(
        Claim(
            rule=RULE,
            effect=Effect.FAIL,
            path=str(damage.path),
            declared="readable",
            observed=damage.what,
            remedy=_REMEDY,
            targets=subject.labels,
            error="" if str(damage.path) in payloads else _ERROR,
            group=str(damage.path),
        )
        for inventory in subject.inventories
        for damage in inventory.damage
    )
    chosen = device_claims(subject, RULE, _told)
    examined = sum(max(inventory.members, 1) for inventory in subject.inventories)
    return Examination(examined, members + chosen)


def _told(_aim: Aim, _met: Obstacle) -> Told:
    return Told("readable", _REMEDY)


def _damaged_payloads(subject: Subject) -> set[str]:
    """Entries whose payload is damaged: which error that is depends on whether the driver takes them."""
    return {
        str(fatbin.path.child(str(entry.index)))
        for inventory in subject.inventories
        for fatbin in inventory.fatbins
        for entry in fatbin.entries
        if entry.payload_error is not None
    }
