"""Smoke an unpacked bundle: start its server, wait, ask for one token, compare it with the known one, tear down.

That the GPU did the work is a check of its own, to come between ``expected-token`` and ``teardown``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.model.finding import Status
from pipeline.serve.completion import Completion, ask_one_token
from pipeline.serve.diagnose import diagnose
from pipeline.serve.http import Questions
from pipeline.serve.outcome import CheckFailed, CheckId, Fault, SmokeCheck
from pipeline.serve.readiness import ended, wait_until_ready

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.engine.interface import Launch, Server, ServingEngine
    from pipeline.model.lane import SmokeSettings
    from pipeline.serve.diagnose import NamedError

_LAST_WORDS = 0.1  # seconds after its answer in which a server that dies of it is seen dead, before it is told to end
_PORT_ATTEMPTS = 3  # between choosing a free port and the server's taking it, anybody may take it


@dataclass(slots=True)
class Smoke:
    """One smoke: ``run`` fills ``checks`` with every ``CheckId`` in order, made or skipped.

    ``ready_at`` is the moment (monotonic) of the first healthy answer, ``None`` until then. ``named_in`` finds the
    CUDA error in a line of the log.
    """

    engine: ServingEngine
    launch: Launch
    settings: SmokeSettings
    expected_token: str
    named_in: Callable[[str], NamedError | None]
    checks: list[SmokeCheck] = field(default_factory=list)
    ready_at: float | None = None

    def run(self) -> None:
        """Smoke once; again on another port when somebody else took the first."""
        for _ in range(_PORT_ATTEMPTS):
            self.checks.clear()
            self._run_once()
            if all(check.fault is not Fault.PORT_TAKEN for check in self.checks):
                return

    def _run_once(self) -> None:
        began = time.monotonic()
        try:
            server = self.engine.start(self.launch)
        except InfrastructureError as error:
            self._failed(CheckId.START, began, CheckFailed(Fault.INFRASTRUCTURE, str(error)), log="")
            self._skip_until(None)
            return
        self._passed(CheckId.START, began)
        try:
            self._question(server)
        finally:  # an interrupted smoke stops its server too
            self._skip_until(CheckId.TEARDOWN)
            self._make(CheckId.TEARDOWN, server, lambda: self._tear_down(server))

    def _question(self, server: Server) -> None:
        if not self._make(CheckId.READY, server, lambda: self._wait(server)):
            return
        answers: list[Completion] = []
        if self._make(CheckId.FIRST_TOKEN, server, lambda: answers.append(self._ask(server))):
            self._make(CheckId.EXPECTED_TOKEN, server, lambda: self._compare(answers[0]))

    def _wait(self, server: Server) -> None:
        with Questions(server.base_url) as questions:
            self.ready_at = wait_until_ready(
                server, questions, self.launch.model.stem, self.settings.ready_timeout, paths=self.settings.readiness
            )

    def _ask(self, server: Server) -> Completion:
        return ask_one_token(server, self.settings.token_timeout)

    def _compare(self, completion: Completion) -> None:
        if completion.content.strip() != self.expected_token.strip():
            raise CheckFailed(
                Fault.WRONG_TOKEN, f"answered {completion.content!r}, this model's token is {self.expected_token!r}"
            )

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
        if status is not None and all(check.status is Status.PASS for check in self.checks):
            raise CheckFailed(Fault.DIES_AT_FIRST_TOKEN, f"the server {ended(status)} by itself after its first token")

    def _make(self, check: CheckId, server: Server, action: Callable[[], None]) -> bool:
        began = time.monotonic()
        log = server.log_tail() if check is CheckId.TEARDOWN else None  # a container's log goes with it
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
        reached = self.checks[-1]
        for check in list(CheckId)[len(self.checks) :]:
            if check is end:
                return
            self.checks.append(SmokeCheck(check, Status.SKIPPED, 0.0, f"not reached: {reached.id} did not pass"))


def _death_within(seconds: float, server: Server) -> int | None:
    """The exit status of a server that ends by itself within ``seconds``, else ``None``."""
    deadline = time.monotonic() + seconds
    while (status := server.exit_status()) is None and time.monotonic() < deadline:
        time.sleep(seconds / 20)
    return status
