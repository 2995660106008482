"""What a smoke concluded: one line per check, each failure under a name of its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pipeline.errors import ExitStatus
from pipeline.model.finding import Outcome, Status, Verdict

if TYPE_CHECKING:
    from pipeline.model.evidence import Machine


class CheckId(StrEnum):
    """The checks of a smoke, in their order. Each needs the ones before it, ``teardown`` only ``start``."""

    START = "start"
    READY = "ready"
    FIRST_TOKEN = "first-token"
    EXPECTED_TOKEN = "expected-token"
    TEARDOWN = "teardown"


class Fault(StrEnum):
    """What went wrong, by name. The last two say nothing about the product."""

    HANGS_BEFORE_READY = "hangs-before-ready"
    DIES_AT_LOAD = "dies-at-load"
    NO_MODEL = "no-model"
    WRONG_MODEL = "wrong-model"
    DIES_AT_FIRST_TOKEN = "dies-at-first-token"
    DROPS_CONNECTION = "drops-connection"
    ANSWERS_ERROR = "answers-error"
    ANSWERS_RUBBISH = "answers-rubbish"
    ANSWERS_SLOWLY = "answers-slowly"
    WRONG_TOKEN = "wrong-token"
    IGNORES_SIGTERM = "ignores-sigterm"
    LEAVES_PROCESSES = "leaves-processes"
    PORT_TAKEN = "port-taken"
    INFRASTRUCTURE = "infrastructure"

    @property
    def status(self) -> Status:
        """``FAIL`` where the product is to blame, ``ERROR`` where it was not judged."""
        return Status.ERROR if self in {Fault.PORT_TAKEN, Fault.INFRASTRUCTURE} else Status.FAIL


class CheckFailed(Exception):
    """A check said no; it becomes a ``SmokeCheck`` and never leaves this package."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the log of a failed server says: its end, the CUDA error that it names, and what that error means."""

    log_tail: str
    cuda_error: str | None
    explanation: str | None

    def to_json(self) -> dict[str, Any]:
        """The diagnosis as part of its check."""
        return {"log_tail": self.log_tail, "cuda_error": self.cuda_error, "explanation": self.explanation}


@dataclass(frozen=True, slots=True)
class SmokeCheck:
    """One check: ``fault`` and ``diagnosis`` are set exactly when it failed or could not be made."""

    id: CheckId
    status: Status
    seconds: float
    reason: str | None = None
    fault: Fault | None = None
    diagnosis: Diagnosis | None = None

    def to_json(self) -> dict[str, Any]:
        """The check as the contract prints it, the diagnosis beside it."""
        row: dict[str, Any] = {
            "id": self.id.value,
            "status": self.status.value,
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
            "fault": self.fault.value if self.fault else None,
        }
        return row | (self.diagnosis.to_json() if self.diagnosis else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeReport:
    """A whole smoke of one bundle on one machine.

    ``seconds_after_ready`` runs from the first healthy answer to the verdict, the server's own time included;
    ``None`` when the server never became ready.
    """

    path: str
    sha256: str
    size: int
    format: str
    model_sha256: str
    machine: Machine
    checks: tuple[SmokeCheck, ...]
    seconds_after_ready: float | None

    @property
    def verdict(self) -> Verdict:
        """``FAIL`` when a check failed, else ``UNKNOWN`` unless every check of the list was made and passed."""
        statuses = [check.status for check in self.checks]
        if Status.FAIL in statuses:
            return Verdict.FAIL
        complete = [check.id for check in self.checks] == list(CheckId)
        return Verdict.PASS if complete and set(statuses) == {Status.PASS} else Verdict.UNKNOWN

    @property
    def status(self) -> ExitStatus:
        """The exit status that the verdict means."""
        return {
            Verdict.PASS: ExitStatus.PASS,
            Verdict.FAIL: ExitStatus.REFUSED,
            Verdict.UNKNOWN: ExitStatus.INFRASTRUCTURE,
        }[self.verdict]

    @property
    def decisive(self) -> SmokeCheck | None:
        """The check that decided against the bundle: the first failure, else the first error."""
        for status in (Status.FAIL, Status.ERROR):
            for check in self.checks:
                if check.status is status:
                    return check
        return None

    def outcome(self, rule: str) -> Outcome:
        """The smoke as one outcome under the name of the lane's check, such as ``smoke@cpu``."""
        status = {Verdict.PASS: Status.PASS, Verdict.FAIL: Status.FAIL, Verdict.UNKNOWN: Status.ERROR}[self.verdict]
        reason = f"{self.decisive.id}: {self.decisive.reason}" if self.decisive else None
        examined = sum(check.status is not Status.SKIPPED for check in self.checks)
        return Outcome(rule=rule, status=status, examined=examined, reason=reason)

    def to_json(self) -> dict[str, Any]:
        """The content of the contract's ``smoke`` document."""
        return {
            "artifact": {"path": self.path, "sha256": self.sha256, "size": self.size, "format": self.format},
            "machine": self.machine.shared.to_json(),
            "model": {"sha256": self.model_sha256},
            "checks": [check.to_json() for check in self.checks],
            "seconds_after_ready": self.seconds_after_ready,
            "verdict": self.verdict.value,
        }
