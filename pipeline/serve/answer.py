"""Read an answer of ``/v1/chat/completions`` as strictly as a user's program would: whole, or in pieces."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pipeline.serve.http import shortened
from pipeline.serve.outcome import CheckFailed, Fault

_FINISHED = ("length", "stop")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: how many tokens, with how many alternatives' log-probabilities to each, whole or in pieces."""

    prompt: str
    tokens: int = 1
    alternatives: int = 0
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """One token that was answered, and the log-probabilities (nats) that the server names, by what a token prints.

    ``None`` is a number that JSON cannot hold: what a server writes for NaN.
    """

    text: bytes
    alternatives: dict[bytes, float | None]


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer. ``prompt_tokens`` is how many the server says it read; ``tokens`` is empty where it names none."""

    content: str
    finish_reason: str
    prompt_tokens: int | None = None
    tokens: tuple[Token, ...] = ()


def read_completion(body: str | bytes, question: Question) -> Completion:
    """Read an answer of exactly as many tokens as were asked for; ``CheckFailed`` naming what is wrong with another."""
    told = _joined(body) if question.stream else _json(body)
    choice = _at(told, body, "choices", 0)
    finish_reason = _at(choice, body, "finish_reason")
    content = _at(choice, body, "message", "content")
    usage = _at(told, body, "usage")
    tokens = _at(usage, body, "completion_tokens")
    if tokens != question.tokens or isinstance(tokens, bool):
        asked = "one token was" if question.tokens == 1 else f"{question.tokens} were"
        raise CheckFailed(Fault.ANSWERS_RUBBISH, f"usage.completion_tokens is {tokens!r}, {asked} asked for")
    if finish_reason not in _FINISHED:
        raise CheckFailed(Fault.ANSWERS_RUBBISH, f"finish_reason is {finish_reason!r}, neither length nor stop")
    if not isinstance(content, str):
        raise _rubbish(body, "has no text in choices[0].message.content")
    read = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return Completion(content, finish_reason, read if isinstance(read, int) else None, _tokens(choice, body))


def _json(body: str | bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _rubbish(body, "is not JSON") from error


def _joined(body: str | bytes) -> Any:
    """The pieces of a stream of events put together to what would have come as a whole."""
    text = body.decode(errors="replace") if isinstance(body, bytes) else body
    events = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    if not events or events[-1] != "[DONE]":
        raise _rubbish(body, "is no stream of events that ends with [DONE]")
    try:
        return _put_together([_json(event) for event in events[:-1]])
    except (AttributeError, KeyError, TypeError) as error:
        raise _rubbish(body, "is no stream of chat completions") from error


def _put_together(pieces: list[Any]) -> Any:
    choices = [choice for piece in pieces for choice in piece["choices"]]
    named = [(choice.get("logprobs") or {}).get("content") or [] for choice in choices]
    choice = {
        "finish_reason": next((told["finish_reason"] for told in reversed(choices) if told.get("finish_reason")), None),
        "message": {"content": "".join(told["delta"].get("content") or "" for told in choices)},
        "logprobs": {"content": [row for rows in named for row in rows]},
    }
    return {
        "choices": [choice],
        "usage": next((piece["usage"] for piece in reversed(pieces) if piece.get("usage")), None),
    }


def _tokens(choice: Any, body: str | bytes) -> tuple[Token, ...]:
    rows = (choice.get("logprobs") or {}).get("content") if isinstance(choice, dict) else None
    if not isinstance(rows, list):
        return ()
    try:
        return tuple(
            Token(_bytes(row), {_bytes(other): _number(other) for other in row["top_logprobs"]}) for row in rows
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _rubbish(body, "has log-probabilities of another shape than OpenAI's") from error


def _bytes(row: Any) -> bytes:
    """What a token prints; the text alone cannot tell bytes that are no characters apart."""
    told = row.get("bytes")
    return str(row["token"]).encode() if told is None else bytes(told)


def _number(row: Any) -> float | None:
    value = row["logprob"]
    return None if value is None else float(value)


def _at(told: Any, body: str | bytes, *way: str | int) -> Any:
    for step in way:
        try:
            told = told[step]
        except (KeyError, IndexError, TypeError) as error:
            raise _rubbish(body, f"is no chat completion: it lacks {'.'.join(map(str, way))}") from error
    return told


def _rubbish(body: str | bytes, why: str) -> CheckFailed:
    return CheckFailed(Fault.ANSWERS_RUBBISH, f"answered {shortened(body)}, which {why}")
