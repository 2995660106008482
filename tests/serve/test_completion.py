from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.serve.completion import Completion, read_completion
from pipeline.serve.outcome import CheckFailed, Fault

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD: dict[str, Any] = {
    "object": "chat.completion",
    "choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "ok"}}],
    "usage": {"prompt_tokens": 8, "completion_tokens": 1, "total_tokens": 9},
}


def changed(change: Callable[[Any], object]) -> str:
    told = copy.deepcopy(GOOD)
    change(told)
    return json.dumps(told)


def test_a_good_answer_is_read() -> None:
    assert read_completion(json.dumps(GOOD)) == Completion("ok", "length")


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
        read_completion(body)
    assert failure.value.fault is Fault.ANSWERS_RUBBISH
    assert len(failure.value.reason) < 300
