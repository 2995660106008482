"""What became of a required check, and of a promised target."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pipeline.model.paths import printable

if TYPE_CHECKING:
    from pipeline.model.evidence import Evidence
    from pipeline.model.target import Target

_LONGEST_WORD = 500  # characters


class Standing(StrEnum):
    """What became of one check or of one target."""

    PROVEN = "proven"
    REHEARSED = "rehearsed"
    INFERRED = "inferred"
    MISSING = "missing"
    FAILED = "failed"
    WAIVED = "waived"

    @property
    def approves(self) -> bool:
        """Whether it speaks for a release."""
        return self not in {Standing.MISSING, Standing.FAILED}


@dataclass(frozen=True, slots=True)
class CheckStanding:
    """One required check, what became of it, why, and the record that decided."""

    check: str
    standing: Standing
    reason: str
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class TargetStanding:
    """How one promised target is known to be served.

    ``proofs`` are the records that were seen on such a GPU and driver, none unless it is proven; ``rehearsals`` those
    of its PTX that an assembler accepted, none unless it is rehearsed. ``rules`` are those
    of the audit that passed and from which it follows. ``elsewhere`` names the other drivers on which a GPU of this
    SM passed with these bytes: that is what it is, and no proof of this target.
    """

    target: Target
    standing: Standing
    reason: str
    proofs: tuple[Evidence, ...] = ()
    rehearsals: tuple[Evidence, ...] = ()
    rules: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The target's row in the lane's row of the ``gate`` document."""
        return {
            "target": self.target.label,
            "gpu": self.target.gpu,
            "suffices": self.target.suffices.value,
            "standing": self.standing.value,
            "reason": self.reason or None,
            "proven_on": [_seen(record) for record in self.proofs],
            "rehearsed_with": [word for record in self.rehearsals for word in assemblers_of(record)],
            "inferred_by": list(self.rules),
            "seen_elsewhere": list(self.elsewhere),
        }


def assemblers_of(record: Evidence) -> tuple[str, ...]:
    """The assemblers that stood for the driver's JIT, as the rehearsal's document names them."""
    rehearsal = record.document.get("rehearsal")
    rows = rehearsal.get("targets") if isinstance(rehearsal, dict) else None
    found = [row.get("assembler") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return tuple(word_of(row.get("name")) for row in found if isinstance(row, dict))


def word_of(value: object) -> str:
    """A word out of a record's document as a verdict may show it: a document is data of others."""
    return printable(str(value)[:_LONGEST_WORD])


def _seen(record: Evidence) -> dict[str, Any]:
    """Where, when and on what: no UUID, since a verdict is shown to everybody."""
    machine = record.machine
    return {
        "check": record.check,
        "gpu": machine.gpu,
        "sm": machine.sm,
        "driver": machine.driver,
        "engine": machine.engine,
        "finished": record.finished,
    }
