"""Findings and outcomes: what a check saw, both sides of it, and what it amounts to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How much a finding matters: only an error can fail a check."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Status(StrEnum):
    """What became of a check. Only ``PASS`` approves; the last three need a reason."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIPPED = "skipped"
    NOT_APPLICABLE = "not-applicable"
    WAIVED = "waived"


class Verdict(StrEnum):
    """The answer for one target or lane."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


_NEED_REASON = (Status.SKIPPED, Status.NOT_APPLICABLE, Status.WAIVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One disagreement between what was declared and what was observed, with its remedy.

    ``path`` is printed by ``MemberPath`` or names a place in matrix.yaml; ``count`` is how many entries or
    members it stands for; ``targets`` are those it decides about, printed ``SM@DRIVER``. ``kernels`` are those that
    nobody can launch because of it, by group, where they were read.
    """

    rule: str
    severity: Severity
    path: str
    declared: str
    observed: str
    remedy: str
    count: int = 1
    targets: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Both sides in one line."""
        return f"{self.path}: declared {self.declared}, observed {self.observed}"

    def to_json(self) -> dict[str, Any]:
        """The finding as the contract prints it."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "path": self.path,
            "declared": self.declared,
            "observed": self.observed,
            "remedy": self.remedy,
            "count": self.count,
            "targets": list(self.targets),
            **({"kernels": list(self.kernels)} if self.kernels else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a rule or check concluded, and over how many things it looked.

    ``ValueError`` when a status that needs a reason has none, or when a pass examined nothing.
    """

    rule: str
    status: Status
    examined: int
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.status in _NEED_REASON and not self.reason:
            raise ValueError(f"{self.rule}: {self.status} needs a reason")
        if self.status is Status.PASS and self.examined == 0:
            raise ValueError(f"{self.rule}: a pass that examined nothing is not a pass")

    def to_json(self) -> dict[str, Any]:
        """The outcome as the contract prints it."""
        return {
            "rule": self.rule,
            "status": self.status.value,
            "examined": self.examined,
            "reason": self.reason,
        }
