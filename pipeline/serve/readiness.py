"""Wait until a server serves the model that it was given: healthy alone proves nothing.

llama-server answers ``/health`` with 503 while it loads and with 200 after; without a model it starts as a router,
which is healthy at once (llama.cpp, tools/server/README.md).
"""

from __future__ import annotations

import time
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pipeline.model.lane import READINESS
from pipeline.serve.diagnose import port_taken
from pipeline.serve.outcome import CheckFailed, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.engine.interface import Server
    from pipeline.serve.http import Answer, Questions

_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.05
_NAMES = ("id", "name", "model", "model_path", "model_alias", "path")


def wait_until_ready(
    server: Server, questions: Questions, model_name: str, timeout: float, *, paths: Sequence[str] = READINESS
) -> float:
    """Return when the server is healthy and names ``model_name``; the moment (monotonic) of its first healthy answer.

    Healthy means that the first of ``paths`` that the server knows answers 200.
    ``CheckFailed`` when it dies, hangs, or serves something else.
    """
    deadline = time.monotonic() + timeout
    healthy_at = _wait_until_healthy(server, questions, deadline, timeout, paths)
    while not serves_model(questions, model_name):
        if time.monotonic() > deadline:
            raise CheckFailed(Fault.HANGS_BEFORE_READY, f"healthy, but says no more after {timeout:g} s")
        _confirm_alive(server)
        time.sleep(_LONGEST_PAUSE)
    _confirm_alive(server)
    return healthy_at


def ended(status: int) -> str:
    """An exit status in words."""
    import signal

    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def _wait_until_healthy(
    server: Server, questions: Questions, deadline: float, timeout: float, paths: Sequence[str]
) -> float:
    pause, last = _FIRST_PAUSE, "nobody listened at the port it was given"
    while True:
        _confirm_alive(server)
        path, answer = _asked(questions, paths)
        now = time.monotonic()
        if answer is not None and answer.status == 200:
            return now
        if answer is not None:
            last = f"{path} answered {answer.status}"
        if now > deadline:
            raise CheckFailed(Fault.HANGS_BEFORE_READY, f"not ready after {timeout:g} s: {last}")
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _asked(questions: Questions, paths: Sequence[str]) -> tuple[str, Answer | None]:
    """The answer of the first path that is not unknown (404) to the server: servers of other kinds have others."""
    path, answer = "", None
    for path in paths:
        answer = questions.get(path)
        if answer is None or answer.status != 404:
            break
    return path, answer


def _confirm_alive(server: Server) -> None:
    status = server.exit_status()
    if status is None:
        return
    if port_taken(server.log_tail()):
        raise CheckFailed(Fault.PORT_TAKEN, f"the server {ended(status)}: somebody else took its port first")
    raise CheckFailed(Fault.DIES_AT_LOAD, f"the server {ended(status)} before it was ready")


def serves_model(questions: Questions, model_name: str) -> bool:
    """Whether ``/v1/models`` or ``/props`` names the file ``model_name`` (without its suffix), bare or with its path.

    ``False`` while neither answers; ``CheckFailed`` when they name another model or none.
    """
    named: list[str] = []
    answers = {path: questions.get(path) for path in ("/v1/models", "/props")}
    for path, answer in answers.items():
        if answer is not None and answer.status == 200:
            named += _names_in(answer.json(path))
    if any(PurePosixPath(name).name.removesuffix(".gguf") == model_name for name in named):
        return True
    if None in answers.values():
        return False
    if named:
        raise CheckFailed(Fault.WRONG_MODEL, f"serves {named[0]!r}, not the model that it was given")
    raise CheckFailed(Fault.NO_MODEL, "healthy, but neither /v1/models nor /props names a model: a router?")


def _names_in(told: Any) -> Iterator[str]:
    """Every model name in an answer of ``/v1/models`` (OpenAI's shape and llama.cpp's) or ``/props``."""
    if not isinstance(told, dict):
        return
    for key in _NAMES:
        if isinstance(name := told.get(key), str) and name:
            yield name
    for key in ("data", "models"):
        rows = told.get(key)
        for row in rows if isinstance(rows, list) else ():
            yield from _names_in(row)
