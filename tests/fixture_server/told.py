"""What a right server answers when it is asked for log-probabilities: the reference's, in OpenAI's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.serve.cases import ANSWER_TOKENS, PROMPT
from pipeline.serve.distribution import ALTERNATIVES
from pipeline.serve.expectation import Expectation, expectation
from pipeline.serve.generated.recipe import KNOWN_TOKEN, recipe
from pipeline.serve.model import generated_model

if TYPE_CHECKING:
    from pathlib import Path


def right_answer(cache: Path) -> dict[str, Any]:
    """The answer of the tiny model to the smoke's question."""
    tiny = recipe("tiny")
    model = generated_model(tiny, cache)
    return as_completion(expectation(tiny, model.path, model.sha256, PROMPT))


def as_completion(expected: Expectation) -> dict[str, Any]:
    """An expectation as a chat completion."""
    return {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "length",
                "message": {"role": "assistant", "content": KNOWN_TOKEN * ANSWER_TOKENS},
                "logprobs": {"content": [_named(row) for row in expected.positions]},
            }
        ],
        "usage": {"prompt_tokens": expected.prompt_tokens, "completion_tokens": ANSWER_TOKENS},
    }


def _named(row: dict[bytes, float]) -> dict[str, Any]:
    rows = [
        {"token": text.decode(errors="replace"), "bytes": list(text), "logprob": row[text]}
        for text in sorted(row, key=lambda text: -row[text])[:ALTERNATIVES]
    ]
    return rows[0] | {"top_logprobs": rows}
