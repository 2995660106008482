"""Chat completions as the smoke reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipeline.serve.answer import Question, read_completion
from pipeline.serve.cases import ANSWER_TOKENS
from pipeline.serve.distribution import ALTERNATIVES

if TYPE_CHECKING:
    from pipeline.serve.answer import Completion


def completion_of(told: dict[str, Any]) -> Completion:
    """The completion in an answer."""
    return read_completion(json.dumps(told), Question("?", ANSWER_TOKENS, ALTERNATIVES))
