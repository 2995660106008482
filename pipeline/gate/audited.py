"""What the document of a recorded audit says of one promised target; whatever it does not say, nobody may assume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.gate.standing import word_of
from pipeline.model.finding import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model.evidence import Evidence


def passes(audit: Evidence, label: str) -> bool:
    """Whether that audit's verdict on a target (``80@535.288.01``) is a pass; a rehearsal has an audit's document."""
    for row in _rows(audit, "targets"):
        if f"{row.get('sm')}@{row.get('driver')}" == label:
            return row.get("verdict") == Verdict.PASS.value
    return False


def failure_of(audit: Evidence, label: str) -> str:
    """The first error that speaks of the target or of every target, in a line; empty where none does."""
    for row in _errors(audit):
        if _about(row, label):
            return f"{word_of(row.get('rule'))}: {word_of(row.get('observed'))}; {word_of(row.get('remedy'))}"
    return ""


def fails_elsewhere(audit: Evidence, label: str) -> bool:
    """Whether a failed audit has errors, and each of them names targets of which this is none."""
    errors = list(_errors(audit))
    return bool(errors) and not any(_about(row, label) for row in errors)


def passed_rules(audit: Evidence) -> tuple[str, ...]:
    """The rules of the audit that passed; those that had nothing to look at prove nothing."""
    passed = (row for row in _rows(audit, "outcomes") if row.get("status") == Status.PASS.value)
    return tuple(word_of(row.get("rule")) for row in passed)


def _errors(audit: Evidence) -> Iterator[dict[str, Any]]:
    return (row for row in _rows(audit, "findings") if row.get("severity") == "error")


def _about(row: dict[str, Any], label: str) -> bool:
    """An error that names no target, or does not say which, is about all of them."""
    targets = row.get("targets")
    return not isinstance(targets, list) or not targets or label in targets


def _rows(audit: Evidence, name: str) -> Iterator[dict[str, Any]]:
    rows = audit.document.get(name)
    return (row for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict))
