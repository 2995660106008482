"""An explanation for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.explain import ErrorExplanation, RuleExplanation
from pipeline.model.document import document

if TYPE_CHECKING:
    from pipeline.explain.changes import Change
    from pipeline.policy.rows import CudaError


def explanation_json(explanation: RuleExplanation | ErrorExplanation) -> str:
    """The document: its ``rule`` or its ``error``, and what goes with it."""
    content = _rule(explanation) if isinstance(explanation, RuleExplanation) else _error(explanation)
    return document("explanation", {**content, "changes": [_change(change) for change in explanation.changes]})


def _rule(explanation: RuleExplanation) -> dict[str, Any]:
    return {
        "rule": explanation.topic.id,
        "command": explanation.topic.asked.value,
        "text": explanation.topic.document,
        "errors": [_cuda_error(error) for error in explanation.errors],
    }


def _error(explanation: ErrorExplanation) -> dict[str, Any]:
    advice = explanation.advice
    candidates = advice.candidates if advice is not None else ()
    return {
        "error": _cuda_error(explanation.error),
        "text": advice.meaning if advice is not None else None,
        "candidates": [{"rule": item.rule or None, "sign": item.sign} for item in candidates],
        "rules": [rule.id for rule in explanation.rules],
    }


def _cuda_error(error: CudaError) -> dict[str, Any]:
    return {
        "code": error.code,
        "driver_name": error.driver_name or None,
        "runtime_name": error.runtime_name or None,
        "message": error.message,
    }


def _change(change: Change) -> dict[str, str]:
    return {"rule": change.rule, "tool": change.tool, "text": change.text}
