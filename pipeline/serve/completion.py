"""Ask for one token with the OpenAI client, and read the answer as strictly as a user's program would."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from pipeline.errors import InfrastructureError
from pipeline.serve.http import shortened
from pipeline.serve.outcome import CheckFailed, Fault
from pipeline.serve.readiness import ended

if TYPE_CHECKING:
    from openai import OpenAI

    from pipeline.engine.interface import Server

PROMPT = "Answer with one word."
_FINISHED = ("length", "stop")
_LOOK_AGAIN = 0.05  # seconds between two looks whether the server still lives
_LAST_WORDS = 1.0  # seconds that a server which dropped the connection may take to be seen dead


@dataclass(frozen=True, slots=True)
class Completion:
    """One token, as the server answered it."""

    content: str
    finish_reason: str


def ask_one_token(server: Server, timeout: float) -> Completion:
    """Ask ``/v1/chat/completions`` for one token.

    ``CheckFailed`` when the server dies, drops the connection, answers an error or something of another shape, or
    takes longer than ``timeout`` seconds in all, however busily it sends; ``InfrastructureError`` when the client
    breaks.
    """
    answers: SimpleQueue[Completion | CheckFailed] = SimpleQueue()
    asking = threading.Thread(target=_ask, args=(server.base_url, timeout, answers), daemon=True)
    asking.start()
    answer = _first_of(answers, asking, server, time.monotonic() + timeout, timeout)
    if isinstance(answer, Completion):
        return answer
    # A dropped connection is the first that is seen of a server that dies.
    dropped = answer.fault is Fault.DROPS_CONNECTION
    _confirm_alive(server, until=time.monotonic() + (_LAST_WORDS if dropped else 0.0))
    raise answer


def _first_of(
    answers: SimpleQueue[Completion | CheckFailed],
    asking: threading.Thread,
    server: Server,
    deadline: float,
    timeout: float,
) -> Completion | CheckFailed:
    while True:
        asked = not asking.is_alive()
        try:
            return answers.get(timeout=max(0.0, min(_LOOK_AGAIN, deadline - time.monotonic())))
        except Empty:
            if asked:
                raise InfrastructureError(
                    "the OpenAI client ended without an answer or an error", remedy="install cubingate again"
                ) from None
            # A child that inherited the socket would keep the connection of a dead server open.
            _confirm_alive(server, until=0.0)
        if time.monotonic() >= deadline:
            return CheckFailed(Fault.ANSWERS_SLOWLY, f"no token after {timeout:g} s")


def _confirm_alive(server: Server, until: float) -> None:
    while (status := server.exit_status()) is None:
        if time.monotonic() >= until:
            return
        time.sleep(_LOOK_AGAIN / 5)
    raise CheckFailed(Fault.DIES_AT_FIRST_TOKEN, f"the server {ended(status)} when it was asked for its first token")


def _ask(base_url: str, timeout: float, answers: SimpleQueue[Completion | CheckFailed]) -> None:
    import openai

    try:
        with _client(base_url, timeout) as client:
            raw = client.chat.completions.with_raw_response.create(
                model="served",
                messages=[{"role": "user", "content": PROMPT}],
                max_tokens=1,
                temperature=0.0,
                seed=1,
            )
            answers.put(read_completion(raw.http_response.content))
    except CheckFailed as failure:
        answers.put(failure)
    except openai.APITimeoutError:
        answers.put(CheckFailed(Fault.ANSWERS_SLOWLY, f"no token after {timeout:g} s"))
    except openai.APIStatusError as error:
        body = shortened(error.response.content)
        answers.put(CheckFailed(Fault.ANSWERS_ERROR, f"answered {error.status_code}: {body}"))
    except openai.OpenAIError as error:
        answers.put(CheckFailed(Fault.DROPS_CONNECTION, f"closed the connection: {error.__cause__ or error}"))


def _client(base_url: str, timeout: float) -> OpenAI:
    import openai

    from pipeline.serve.transport import BoundedTransport

    # Plain HTTP on this machine, where no proxy has a say.
    http: Any = openai.DefaultHttpxClient
    return openai.OpenAI(
        base_url=f"{base_url}/v1",
        api_key="none",
        timeout=timeout,
        max_retries=0,
        http_client=http(trust_env=False, follow_redirects=False, transport=BoundedTransport()),
    )


def read_completion(body: str | bytes) -> Completion:
    """Read a chat completion of exactly one token; ``CheckFailed`` naming what is wrong with any other answer."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _rubbish(body, "is not JSON") from error
    choice = _at(told, body, "choices", 0)
    finish_reason = _at(choice, body, "finish_reason")
    content = _at(choice, body, "message", "content")
    tokens = _at(told, body, "usage", "completion_tokens")
    if tokens != 1 or isinstance(tokens, bool):
        raise CheckFailed(Fault.ANSWERS_RUBBISH, f"usage.completion_tokens is {tokens!r}, one token was asked for")
    if finish_reason not in _FINISHED:
        raise CheckFailed(Fault.ANSWERS_RUBBISH, f"finish_reason is {finish_reason!r}, neither length nor stop")
    if not isinstance(content, str):
        raise _rubbish(body, "has no text in choices[0].message.content")
    return Completion(content, finish_reason)


def _at(told: Any, body: str | bytes, *way: str | int) -> Any:
    for step in way:
        try:
            told = told[step]
        except (KeyError, IndexError, TypeError) as error:
            raise _rubbish(body, f"is no chat completion: it lacks {'.'.join(map(str, way))}") from error
    return told


def _rubbish(body: str | bytes, why: str) -> CheckFailed:
    return CheckFailed(Fault.ANSWERS_RUBBISH, f"answered {shortened(body)}, which {why}")
