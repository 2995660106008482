from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.serve.answer import Completion, Question, Token, read_completion
from pipeline.serve.outcome import CheckFailed, Fault

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD: dict[str, Any] = {
    "object": "chat.completion",
    "choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "ok"}}],
    "usage": {"prompt_tokens": 8, "completion_tokens": 1, "total_tokens": 9},
}

ONE = Question("?")


def changed(change: Callable[[Any], object]) -> str:
    told = copy.deepcopy(GOOD)
    change(told)
    return json.dumps(told)


def test_a_good_answer_is_read() -> None:
    assert read_completion(json.dumps(GOOD), ONE) == Completion("ok", "length", 8)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>",
        "null",
        "[]",
        '"text"',
        "[" * 100_000,
        changed(lambda told: told.pop("choices")),
        changed(lambda told: told.update(choices=[])),
        changed(lambda told: told.update(choices="ok")),
        changed(lambda told: told["choices"][0].pop("message")),
        changed(lambda told: told["choices"][0].update(message=None)),
        changed(lambda told: told["choices"][0]["message"].update(content=None)),
        changed(lambda told: told["choices"][0].update(finish_reason=None)),
        changed(lambda told: told["choices"][0].update(finish_reason=["length"])),
        changed(lambda told: told.pop("usage")),
        changed(lambda told: told["usage"].update(completion_tokens="1")),
        changed(lambda told: told["usage"].update(completion_tokens=True)),
        changed(lambda told: told["usage"].update(completion_tokens=0)),
    ],
)
def test_anything_else_is_rubbish_and_never_a_crash(body: str) -> None:
    with pytest.raises(CheckFailed) as failure:
        read_completion(body, ONE)
    assert failure.value.fault is Fault.ANSWERS_RUBBISH
    assert len(failure.value.reason) < 300


NAMED = {
    "token": "ok",
    "logprob": -0.1,
    "bytes": [111, 107],
    "top_logprobs": [{"token": "ok", "logprob": -0.1, "bytes": [111, 107]}, {"token": "no", "logprob": None}],
}


def test_log_probabilities_are_read_by_bytes_and_by_text() -> None:
    body = changed(lambda told: told["choices"][0].update(logprobs={"content": [NAMED]}))
    assert read_completion(body, ONE).tokens == (Token(b"ok", {b"ok": -0.1, b"no": None}),)


@pytest.mark.parametrize("rows", [[{}], [1], [NAMED | {"top_logprobs": 3}], [NAMED | {"bytes": [999]}]])
def test_log_probabilities_of_another_shape_are_rubbish(rows: object) -> None:
    body = changed(lambda told: told["choices"][0].update(logprobs={"content": rows}))
    with pytest.raises(CheckFailed, match="another shape"):
        read_completion(body, ONE)


def events(*pieces: object, end: str = "[DONE]") -> str:
    return "".join(f"data: {piece if isinstance(piece, str) else json.dumps(piece)}\n\n" for piece in (*pieces, end))


def test_an_answer_in_pieces_is_put_together() -> None:
    body = events(
        {"choices": [{"delta": {"role": "assistant", "content": None}, "finish_reason": None}]},
        {"choices": [{"delta": {"content": "ok"}, "finish_reason": None, "logprobs": {"content": [NAMED]}}]},
        {"choices": [{"delta": {}, "finish_reason": "length"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
    )
    told = read_completion(body, Question("?", stream=True))
    assert (told.content, told.finish_reason, told.prompt_tokens, len(told.tokens)) == ("ok", "length", 3, 1)


@pytest.mark.parametrize(
    "body",
    [
        "",
        json.dumps(GOOD),
        events({"choices": []}, end="nothing"),
        events("<html>"),
        events(["choices"]),
        events({"choices": [{"delta": 7}]}),
        events({"choices": [{"delta": None}]}),
        events({"choices": "text"}),
        events({"choices": [{"delta": {"content": 7}}]}),
    ],
)
def test_pieces_that_are_none_are_rubbish(body: str) -> None:
    with pytest.raises(CheckFailed) as failure:
        read_completion(body, Question("?", stream=True))
    assert failure.value.fault is Fault.ANSWERS_RUBBISH
