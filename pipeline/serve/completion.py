"""Ask a server with the OpenAI client, one question or several at once, for a bounded time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from pipeline.errors import InfrastructureError
from pipeline.serve.answer import Completion, Question, read_completion
from pipeline.serve.http import shortened
from pipeline.serve.outcome import CheckFailed, Fault
from pipeline.serve.readiness import ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openai import OpenAI

    from pipeline.engine.interface import Server

_LOOK_AGAIN = 0.05  # seconds between two looks whether the server still lives
_LAST_WORDS = 1.0  # seconds that a server which dropped the connection may take to be seen dead


@dataclass(frozen=True, slots=True)
class Answered:
    """A completion, and the seconds from the question to its end."""

    completion: Completion
    seconds: float


@dataclass(frozen=True, slots=True)
class _Asking:
    thread: threading.Thread
    answers: SimpleQueue[Answered | CheckFailed]


def ask(server: Server, question: Question, timeout: float) -> Answered:
    """Ask one question; errors as ``ask_all``."""
    return ask_all(server, [question], timeout)[0]


def ask_all(server: Server, questions: Sequence[Question], timeout: float) -> list[Answered]:
    """Ask ``/v1/chat/completions`` all questions at once.

    ``CheckFailed`` when the server dies, drops the connection, answers an error or something of another shape, or
    takes longer than ``timeout`` seconds in all, however busily it sends; ``InfrastructureError`` when the client
    breaks.
    """
    deadline = time.monotonic() + timeout
    asking = [_begin(server.base_url, question, timeout) for question in questions]
    return [_answer(one, server, deadline, timeout) for one in asking]


def _begin(base_url: str, question: Question, timeout: float) -> _Asking:
    answers: SimpleQueue[Answered | CheckFailed] = SimpleQueue()
    thread = threading.Thread(target=_ask, args=(base_url, question, timeout, answers), daemon=True)
    thread.start()
    return _Asking(thread, answers)


def _answer(asking: _Asking, server: Server, deadline: float, timeout: float) -> Answered:
    answer = _first_of(asking, server, deadline, timeout)
    if isinstance(answer, Answered):
        return answer
    # A dropped connection is the first that is seen of a server that dies.
    dropped = answer.fault is Fault.DROPS_CONNECTION
    _confirm_alive(server, until=time.monotonic() + (_LAST_WORDS if dropped else 0.0))
    raise answer


def _first_of(asking: _Asking, server: Server, deadline: float, timeout: float) -> Answered | CheckFailed:
    while True:
        asked = not asking.thread.is_alive()
        try:
            return asking.answers.get(timeout=max(0.0, min(_LOOK_AGAIN, deadline - time.monotonic())))
        except Empty:
            if asked:
                raise InfrastructureError(
                    "the OpenAI client ended without an answer or an error", remedy="install cubingate again"
                ) from None
            # A child that inherited the socket would keep the connection of a dead server open.
            _confirm_alive(server, until=0.0)
        if time.monotonic() >= deadline:
            return CheckFailed(Fault.ANSWERS_SLOWLY, f"no answer after {timeout:g} s")


def _confirm_alive(server: Server, until: float) -> None:
    while (status := server.exit_status()) is None:
        if time.monotonic() >= until:
            return
        time.sleep(_LOOK_AGAIN / 5)
    raise CheckFailed(Fault.DIES_AT_FIRST_TOKEN, f"the server {ended(status)} when it was asked")


def _ask(base_url: str, question: Question, timeout: float, answers: SimpleQueue[Answered | CheckFailed]) -> None:
    import openai

    try:
        with _client(base_url, timeout) as client:
            began = time.monotonic()
            raw = client.chat.completions.with_raw_response.create(**_words(question))
            body = raw.http_response.content
            seconds = time.monotonic() - began
            answers.put(Answered(read_completion(body, question), seconds))
    except CheckFailed as failure:
        answers.put(failure)
    except openai.APITimeoutError:
        answers.put(CheckFailed(Fault.ANSWERS_SLOWLY, f"no answer after {timeout:g} s"))
    except openai.APIStatusError as error:
        refusal = shortened(error.response.content)
        answers.put(CheckFailed(Fault.ANSWERS_ERROR, f"answered {error.status_code}: {refusal}"))
    except openai.OpenAIError as error:
        answers.put(CheckFailed(Fault.DROPS_CONNECTION, f"closed the connection: {error.__cause__ or error}"))


def _words(question: Question) -> dict[str, Any]:
    words: dict[str, Any] = {
        "model": "served",
        "messages": [{"role": "user", "content": question.prompt}],
        "max_tokens": question.tokens,
        "temperature": 0.0,
        "seed": 1,
    }
    if question.alternatives:
        words |= {"logprobs": True, "top_logprobs": question.alternatives}
    if question.stream:
        words |= {"stream": True, "stream_options": {"include_usage": True}}
    return words


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
