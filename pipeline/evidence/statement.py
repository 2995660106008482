"""A record as an in-toto statement (https://in-toto.io/Statement/v1), and back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipeline.model.evidence import CHECK_KINDS, Evidence, Machine, Origin
from pipeline.model.finding import Outcome, Status
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.evidence.witness import Witness

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:cubingate:evidence:v2"
"""The predicate's type and version; it goes up with every change of its shape."""

_LONGEST_WORD = 500  # characters of what a machine calls itself
_LONGEST_REASON = 4000  # characters of why a check ended as it did: the tail of a server's log has some


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
    for time in ("started", "finished"):
        instant(predicate[time])
    return Evidence(
        subject=str(subject["digest"]["sha256"]),
        lane=str(subject["name"]),
        check=_known(str(predicate["check"])),
        scope=str(predicate["scope"]),
        outcome=_outcome(predicate["outcome"]),
        machine=_machine(predicate["machine"]),
        started=str(predicate["started"]),
        finished=str(predicate["finished"]),
        document=dict(predicate["document"]),
        origin=_origin(predicate["origin"]),
        signed_by=_names(witnesses, trusted=True),
        strangers=_names(witnesses, trusted=False),
    )


def instant(written: str) -> datetime:
    """A time of a record; ``ValueError`` for anything but ISO 8601 with a time zone."""
    time = datetime.fromisoformat(written)
    if time.tzinfo is None:
        raise ValueError(f"{written!r} has no time zone")
    if not written.isprintable():  # Python takes any character between date and time
        raise ValueError(f"{written!r} is no time")
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
    reason = None if row["reason"] is None else _told(str(row["reason"]))
    return Outcome(rule=str(row["rule"]), status=Status(row["status"]), examined=int(row["examined"]), reason=reason)


def _told(reason: str) -> str:
    """A reason as it may be printed: no control characters, and what is longer than a screen is cut and counted."""
    shown = reason[:_LONGEST_REASON]
    left_out = f"… ({len(reason) - _LONGEST_REASON} more characters)" if len(reason) > _LONGEST_REASON else ""
    return "\n".join(printable(line) for line in shown.splitlines()) + left_out


def _machine(row: dict[str, Any]) -> Machine:
    numbers = {name: value for name, value in row.items() if name == "sm"}
    if not all(value is None or type(value) is int for value in numbers.values()):
        raise TypeError("the machine's sm is no number")
    _check_words({name: value for name, value in row.items() if name not in numbers}, ("platform", "kernel", "device"))
    return Machine(**row)


def _origin(row: dict[str, Any]) -> Origin:
    _check_words(row, ("tool", "policy"))
    return Origin(**row)


def _check_words(row: dict[str, Any], needed: Sequence[str]) -> None:
    """These are printed as they are: ``TypeError`` or ``ValueError`` for what is no short word on one line."""
    for name, value in row.items():
        if not isinstance(value, str) and (value is not None or name in needed):
            raise TypeError(f"{name} is no text")
        if value is not None and not (value.isprintable() and len(value) <= _LONGEST_WORD):
            raise ValueError(f"{name} is no text of one line")
