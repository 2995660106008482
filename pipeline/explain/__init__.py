"""What a rule or a CUDA error means, how to tell its causes apart, and what to change."""

from __future__ import annotations

from pipeline.explain.lookup import ErrorExplanation, RuleExplanation, errors_in, explain

__all__ = ["ErrorExplanation", "RuleExplanation", "errors_in", "explain"]
