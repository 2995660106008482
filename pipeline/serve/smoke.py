"""Serve one case out of an unpacked bundle: start, wait, ask, compare, look at the GPU, tear down, all on record."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.model.finding import Status
from pipeline.serve import budgets
from pipeline.serve.answer import Completion, Question
from pipeline.serve.cases import ANSWER_TOKENS, FIRST_PROMPT, SECOND_PROMPT
from pipeline.serve.completion import ask, ask_all
from pipeline.serve.diagnose import diagnose
from pipeline.serve.distribution import ALTERNATIVES, distance
from pipeline.serve.gpu import given_back, statement, taken
from pipeline.serve.http import Questions
from pipeline.serve.outcome import CaseReport, CheckFailed, CheckId, Fault, Measured, SmokeCheck
from pipeline.serve.readiness import ended, wait_until_ready

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.engine.interface import Launch, Server, ServingEngine
    from pipeline.model.lane import SmokeSettings
    from pipeline.serve.cases import Case
    from pipeline.serve.diagnose import NamedError
    from pipeline.serve.expectation import Expectation
    from pipeline.serve.gpu import CardWatch
    from pipeline.serve.model import PreparedModel
    from pipeline.serve.signals import Use

_LAST_WORDS = 0.05  # seconds after its answer in which a server that dies of it is seen dead, before it is told to end
_PORT_ATTEMPTS = 3  # between choosing a free port and the server's taking it, anybody may take it
_LOG_LINES = 5000
_ON_GPU = {CheckId.GPU_STATED, CheckId.GPU_MEMORY, CheckId.GPU_MEMORY_RETURNED}


@dataclass(frozen=True, slots=True)
class Reference:
    """What a right server answers to each prompt of a case, and how far from it is near enough (nats)."""

    answers: Callable[[], Sequence[Expectation]]
    tolerance: float


@dataclass(slots=True)
class Smoke:
    """One case: ``run`` fills ``checks`` with every ``CheckId`` in order, made, skipped or not applicable.

    ``reference`` of ``None`` is a model of which nobody knows more than its token; ``watch`` of ``None`` is the CPU.
    ``ready_at`` is the moment (monotonic) of the first healthy answer, ``None`` until then. ``named_in`` finds the CUDA
    error in a line of the log.
    """

    engine: ServingEngine
    launch: Launch
    settings: SmokeSettings
    case: Case
    model: PreparedModel
    reference: Reference | None
    watch: CardWatch | None
    named_in: Callable[[str], NamedError | None]
    checks: list[SmokeCheck] = field(default_factory=list)
    measured: Measured = field(default_factory=Measured)
    ready_at: float | None = None
    _before: Use | None = None
    _processes: frozenset[int] = frozenset()

    def run(self) -> CaseReport:
        """Smoke once; again on another port when somebody else took the first."""
        for _ in range(_PORT_ATTEMPTS):
            self.checks.clear()
            self.measured, self._processes = Measured(), frozenset()
            self._run_once()
            if all(check.fault is not Fault.PORT_TAKEN for check in self.checks):
                break
        return CaseReport(
            case=self.case.name, model_sha256=self.model.sha256, checks=tuple(self.checks), measured=self.measured
        )

    def _run_once(self) -> None:
        began = time.monotonic()
        try:
            self._before = self.watch.look() if self.watch else None
            server = self.engine.start(self.launch)
        except InfrastructureError as error:
            self._failed(CheckId.START, began, CheckFailed(Fault.INFRASTRUCTURE, str(error)), log="")
            self._skip_until(None)
            return
        self._passed(CheckId.START, began)
        try:
            self._question(server, began)
        finally:  # an interrupted smoke stops its server too
            self._skip_until(CheckId.TEARDOWN)
            self._make(CheckId.TEARDOWN, server, lambda: self._tear_down(server))
        self._look_back(server)

    def _question(self, server: Server, began: float) -> None:
        answers: list[Completion] = []
        steps: list[tuple[CheckId, Callable[[], None]]] = [
            (CheckId.READY, lambda: self._wait(server, began)),
            (CheckId.FIRST_TOKEN, lambda: answers.append(self._ask(server))),
            (CheckId.EXPECTED_TOKEN, lambda: self._compare(answers[0])),
            (CheckId.WARM_TOKEN, lambda: self._ask_again(server)),
            (CheckId.LOG_PROBABILITIES, lambda: self._compare_distribution(server)),
            (CheckId.GPU_STATED, lambda: self._read_statement(server)),
            (CheckId.GPU_MEMORY, lambda: self._look_at_memory(server)),
        ]
        for check, action in steps:
            if (why := self._why_not(check)) is not None:
                self.checks.append(SmokeCheck(check, Status.NOT_APPLICABLE, 0.0, why))
            elif not self._make(check, server, action):
                return

    def _look_back(self, server: Server) -> None:
        """What can only be said when the server has gone."""
        steps: list[tuple[CheckId, Callable[[], None]]] = [
            (CheckId.GPU_MEMORY_RETURNED, self._look_at_memory_again),
            (CheckId.BUDGETS, lambda: budgets.keep(self.settings.budgets, self.measured)),
        ]
        for check, action in steps:
            if (why := self._why_not(check)) is not None:
                self.checks.append(SmokeCheck(check, Status.NOT_APPLICABLE, 0.0, why))
            elif self._missing(check):
                self._skip(check)
            else:
                self._make(check, server, action, log="")

    def _why_not(self, check: CheckId) -> str | None:
        """Why a check does not apply to this case; ``None`` where it does."""
        if check in _ON_GPU and self.watch is None:
            return "served on the CPU"
        if check is CheckId.LOG_PROBABILITIES:
            if self.reference is None:
                return "a model by URL has no reference"
            if not self.settings.log_probabilities:
                return "smoke.log_probabilities is false"
        if check is CheckId.BUDGETS and not self.settings.budgets.any:
            return "smoke.budgets sets none"
        return None

    def _missing(self, check: CheckId) -> bool:
        """Whether what ``check`` is about was never seen."""
        if check is CheckId.GPU_MEMORY_RETURNED:
            return self.measured.memory is None
        return self.measured.first_token is None

    def _wait(self, server: Server, began: float) -> None:
        with Questions(server.base_url) as questions:
            self.ready_at = wait_until_ready(
                server, questions, self.launch.model.stem, self.settings.ready_timeout, paths=self.settings.readiness
            )
        self.measured = replace(self.measured, ready=self.ready_at - began)

    def _ask(self, server: Server) -> Completion:
        answered = ask(server, Question(FIRST_PROMPT), self.settings.token_timeout)
        self.measured = replace(self.measured, first_token=answered.seconds)
        return answered.completion

    def _ask_again(self, server: Server) -> None:
        answered = ask(server, Question(SECOND_PROMPT), self.settings.token_timeout)
        self.measured = replace(self.measured, warm_token=answered.seconds)

    def _compare(self, completion: Completion) -> None:
        expected = self.model.expected_token
        if completion.content.strip() != expected.strip():
            raise CheckFailed(Fault.WRONG_TOKEN, f"answered {completion.content!r}, this model's token is {expected!r}")

    def _compare_distribution(self, server: Server) -> None:
        if self.reference is None:
            raise TypeError("nothing to compare with")
        questions = [Question(prompt, ANSWER_TOKENS, ALTERNATIVES, self.case.stream) for prompt in self.case.prompts]
        said = ask_all(server, questions, self.settings.token_timeout)
        allowed = self.reference.tolerance
        self.measured = replace(self.measured, tolerance=allowed)
        pairs = zip(said, self.reference.answers(), strict=True)
        worst = max(distance(answered.completion, expected, allowed) for answered, expected in pairs)
        self.measured = replace(self.measured, distance=worst)

    def _read_statement(self, server: Server) -> None:
        self.measured = replace(self.measured, stated=statement(server.log_tail(_LOG_LINES)))

    def _look_at_memory(self, server: Server) -> None:
        if self.watch is None or self._before is None:
            raise TypeError("nobody watches a card")
        self._processes = frozenset(server.processes())
        self.measured = replace(self.measured, memory=taken(self._before, self.watch.look(), self._processes))

    def _look_at_memory_again(self) -> None:
        if self.watch is None or self.measured.memory is None:
            raise TypeError("nobody watches a card")
        seen = given_back(self.watch, self.measured.memory, self._processes)
        self.measured = replace(self.measured, memory=seen)
        budgets.keep_memory(self.settings.budgets, seen)

    def _tear_down(self, server: Server) -> None:
        allowed = self.settings.stop_timeout
        try:
            status = _death_within(_LAST_WORDS, server)
        except InfrastructureError:  # nobody knows how it is; what is left of it must go all the same
            server.stop(allowed)
            raise
        began = time.monotonic()
        left = server.stop(allowed)
        if time.monotonic() - began > allowed:
            raise CheckFailed(Fault.IGNORES_SIGTERM, f"did not end within {allowed:g} s of SIGTERM; it was killed")
        if left:
            raise CheckFailed(Fault.LEAVES_PROCESSES, f"left behind: {'; '.join(left)}")
        if status is not None and all(check.status in {Status.PASS, Status.NOT_APPLICABLE} for check in self.checks):
            raise CheckFailed(Fault.DIES_AT_FIRST_TOKEN, f"the server {ended(status)} by itself after its first token")

    def _make(self, check: CheckId, server: Server, action: Callable[[], None], *, log: str | None = None) -> bool:
        began = time.monotonic()
        if check is CheckId.TEARDOWN:  # a container's log goes with it
            log = server.log_tail()
        try:
            action()
        except CheckFailed as failure:
            self._failed(check, began, failure, log=server.log_tail() if log is None else log)
            return False
        except InfrastructureError as error:
            self._failed(check, began, CheckFailed(Fault.INFRASTRUCTURE, str(error)), log=log or "")
            return False
        self._passed(check, began)
        return True

    def _passed(self, check: CheckId, began: float) -> None:
        self.checks.append(SmokeCheck(check, Status.PASS, time.monotonic() - began))

    def _failed(self, check: CheckId, began: float, failure: CheckFailed, *, log: str) -> None:
        seconds, fault = time.monotonic() - began, failure.fault
        diagnosis = diagnose(log, self.named_in)
        reason = f"{failure.reason}: {diagnosis.cuda_error}" if diagnosis.cuda_error else failure.reason
        self.checks.append(SmokeCheck(check, fault.status, seconds, reason, fault, diagnosis))

    def _skip_until(self, end: CheckId | None) -> None:
        """Note the checks that were not reached, up to and without ``end``."""
        for check in list(CheckId)[len(self.checks) :]:
            if check is end:
                return
            self._skip(check)

    def _skip(self, check: CheckId) -> None:
        if (why := self._why_not(check)) is not None:
            self.checks.append(SmokeCheck(check, Status.NOT_APPLICABLE, 0.0, why))
            return
        bad = (made for made in self.checks if made.status in {Status.FAIL, Status.ERROR})
        stopped = next(bad, self.checks[-1])  # an interruption fails nothing
        self.checks.append(SmokeCheck(check, Status.SKIPPED, 0.0, f"not reached: {stopped.id} did not pass"))


def _death_within(seconds: float, server: Server) -> int | None:
    """The exit status of a server that ends by itself within ``seconds``, else ``None``."""
    deadline = time.monotonic() + seconds
    while (status := server.exit_status()) is None and time.monotonic() < deadline:
        time.sleep(seconds / 20)
    return status
