"""What a smoke concluded: one line per check, each failure under a name of its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pipeline.errors import ExitStatus
from pipeline.model.finding import Outcome, Status, Verdict

if TYPE_CHECKING:
    from pipeline.model.evidence import Machine
    from pipeline.serve.signals import MemorySeen, Statement


class CheckId(StrEnum):
    """The checks of each case of a smoke, in their order.

    Each needs the ones before it; ``teardown`` only ``start``. Those of the GPU are not applicable on the CPU.
    """

    START = "start"
    READY = "ready"
    FIRST_TOKEN = "first-token"
    EXPECTED_TOKEN = "expected-token"
    WARM_TOKEN = "warm-token"
    LOG_PROBABILITIES = "log-probabilities"
    GPU_STATED = "gpu-stated"
    GPU_MEMORY = "gpu-memory"
    TEARDOWN = "teardown"
    GPU_MEMORY_RETURNED = "gpu-memory-returned"
    BUDGETS = "budgets"


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
    NO_LOG_PROBABILITIES = "no-log-probabilities"
    NOT_A_NUMBER = "not-a-number"
    FLAT = "flat-distribution"
    WRONG_DISTRIBUTION = "wrong-distribution"
    OTHER_PROMPT = "reads-another-prompt"
    GPU_NOT_STATED = "gpu-not-stated"
    GPU_NOT_USED = "gpu-not-used"
    GPU_MEMORY_UNTOUCHED = "gpu-memory-untouched"
    LEAVES_GPU_MEMORY = "leaves-gpu-memory"
    READY_OVER_BUDGET = "ready-over-budget"
    FIRST_TOKEN_OVER_BUDGET = "first-token-over-budget"
    WARM_TOKEN_OVER_BUDGET = "warm-token-over-budget"
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
class Measured:
    """What was measured in one case; ``None`` is what was not reached or does not apply.

    Seconds to the first healthy answer, to the first token, and to that of a second question; the largest distance
    (nats) of a log-probability from the reference and how far is allowed; what the server says of its GPU, and what its
    card's memory says.
    """

    ready: float | None = None
    first_token: float | None = None
    warm_token: float | None = None
    distance: float | None = None
    tolerance: float | None = None
    stated: Statement | None = None
    memory: MemorySeen | None = None

    def to_json(self) -> dict[str, Any]:
        """As the smoke document has it."""
        stated = self.stated
        return {
            "seconds": {name: _rounded(getattr(self, name)) for name in ("ready", "first_token", "warm_token")},
            "log_probabilities": {"distance": _rounded(self.distance), "tolerance": self.tolerance},
            "gpu_stated": stated and {"layers": stated.layers, "of": stated.of, "model_mebibytes": stated.mebibytes},
            "gpu_memory": self.memory and self.memory.to_json(),
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport:
    """One start of the server with one model."""

    case: str
    model_sha256: str
    checks: tuple[SmokeCheck, ...]
    measured: Measured

    @property
    def complete(self) -> bool:
        """Whether every check was made and passed, or does not apply."""
        every = [check.id for check in self.checks] == list(CheckId)
        return every and {check.status for check in self.checks} <= {Status.PASS, Status.NOT_APPLICABLE}

    def to_json(self) -> dict[str, Any]:
        """The case without its checks, which stand in a list of their own."""
        return {"name": self.case, "sha256": self.model_sha256} | self.measured.to_json()


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeReport:
    """A whole smoke of one bundle on one machine: one case, or several one after the other.

    ``seconds_after_ready`` runs from the last case's first healthy answer to the verdict, the server's own time
    included; ``None`` when the server never became ready.
    """

    path: str
    sha256: str
    size: int
    format: str
    machine: Machine
    cases: tuple[CaseReport, ...]
    seconds_after_ready: float | None

    @property
    def checks(self) -> tuple[SmokeCheck, ...]:
        """The checks of every case, in the order in which they were made."""
        return tuple(check for case in self.cases for check in case.checks)

    @property
    def verdict(self) -> Verdict:
        """``FAIL`` when a check failed, else ``UNKNOWN`` unless every check of every case was made and passed."""
        if any(check.status is Status.FAIL for check in self.checks):
            return Verdict.FAIL
        return Verdict.PASS if self.cases and all(case.complete for case in self.cases) else Verdict.UNKNOWN

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
        examined = sum(check.status not in {Status.SKIPPED, Status.NOT_APPLICABLE} for check in self.checks)
        return Outcome(rule=rule, status=status, examined=examined, reason=reason)

    def to_json(self) -> dict[str, Any]:
        """The content of the contract's ``smoke`` document."""
        return {
            "artifact": {"path": self.path, "sha256": self.sha256, "size": self.size, "format": self.format},
            "machine": self.machine.shared.to_json(),
            "model": {"sha256": self.cases[0].model_sha256 if self.cases else None},
            "models": [case.to_json() for case in self.cases],
            "checks": [{"model": case.case} | check.to_json() for case in self.cases for check in case.checks],
            "seconds_after_ready": self.seconds_after_ready,
            "verdict": self.verdict.value,
        }
