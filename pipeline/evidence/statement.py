"""A record as an in-toto statement (https://in-toto.io/Statement/v1), and back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipeline.model.evidence import CHECK_KINDS, Evidence, Machine, Origin
from pipeline.model.finding import Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.evidence.witness import Witness

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:cubingate:evidence:v2"
"""The predicate's type and version; it goes up with every change of its shape."""


def statement(evidence: Evidence) -> dict[str, Any]:
    """The record as it is written, and signed."""
    return {
        "_type": STATEMENT,
        "subject": [{"name": evidence.lane, "digest": {"sha256": evidence.subject}}],
        "predicateType": PREDICATE,
        "predicate": {
            "check": evidence.check,
            "scope": evidence.scope,
            "outcome": evidence.outcome.to_json(),
            "machine": evidence.machine.to_json(),
            "started": evidence.started,
            "finished": evidence.finished,
            "origin": evidence.origin.to_json(),
            "document": evidence.document,
        },
    }


def evidence_of(content: Any, witnesses: Sequence[Witness] = ()) -> Evidence:
    """The record that a statement makes, and who signed it.

    ``KeyError``, ``TypeError``, ``ValueError``, ``AttributeError`` or ``OverflowError`` when it is not one.
    """
    if content["_type"] != STATEMENT or content["predicateType"] != PREDICATE:
        raise ValueError("not evidence of this version")
    (subject,) = content["subject"]
    predicate = content["predicate"]
    instant(predicate["finished"])
    return Evidence(
        subject=str(subject["digest"]["sha256"]),
        lane=str(subject["name"]),
        check=_known(str(predicate["check"])),
        scope=str(predicate["scope"]),
        outcome=_outcome(predicate["outcome"]),
        machine=Machine(**predicate["machine"]),
        started=str(predicate["started"]),
        finished=str(predicate["finished"]),
        document=dict(predicate["document"]),
        origin=Origin(**predicate["origin"]),
        signed_by=_names(witnesses, trusted=True),
        strangers=_names(witnesses, trusted=False),
    )


def instant(written: str) -> datetime:
    """A time of a record; ``ValueError`` for anything but ISO 8601 with a time zone."""
    time = datetime.fromisoformat(written)
    if time.tzinfo is None:
        raise ValueError(f"{written!r} has no time zone")
    return time


def iso(time: datetime) -> str:
    """A UTC time as records have it, with microseconds."""
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _names(witnesses: Sequence[Witness], *, trusted: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(witness.name for witness in witnesses if witness.trusted is trusted))


def _known(check: str) -> str:
    if check.partition("@")[0] not in CHECK_KINDS:
        raise ValueError(f"{check!r} is no check of this version")
    return check


def _outcome(row: dict[str, Any]) -> Outcome:
    return Outcome(
        rule=str(row["rule"]), status=Status(row["status"]), examined=int(row["examined"]), reason=row["reason"]
    )
