"""An explanation for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.explain import ErrorExplanation, RuleExplanation
from pipeline.report.fold import folded, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.explain.changes import Change
    from pipeline.policy.rows import CudaError


def explanation_text(explanation: RuleExplanation | ErrorExplanation, *, width: int = 0) -> str:
    """Lines for a terminal of that width; 0 leaves long lines alone."""
    if isinstance(explanation, RuleExplanation):
        topic = explanation.topic
        head = [f"{topic.id}  (cubingate {topic.asked})", "", *paragraphs(topic.document, width)]
        lines = [*head, *folded(_rule(explanation), width)]
    else:
        lines = [*folded(_error(explanation), width)]
    return "\n".join(lines) + "\n"


def _rule(explanation: RuleExplanation) -> Iterator[str]:
    if explanation.errors:
        yield ""
        yield "Users see one of:"
        yield from (f"  {_named(error)}" for error in explanation.errors)
    yield from _changes(explanation.changes)


def _error(explanation: ErrorExplanation) -> Iterator[str]:
    yield _named(explanation.error)
    yield ""
    if explanation.advice is None:
        yield "Not an error of how a binary was built, as far as is known; no rule looks for it."
        return
    yield explanation.advice.meaning
    yield ""
    yield "Candidates, likeliest first:"
    for candidate in explanation.advice.candidates:
        yield f"  {candidate.rule or 'on the machine'}: {candidate.sign}"
    if explanation.rules:
        yield ""
        yield f"`cubingate audit BUNDLE --target SM@DRIVER` finds: {', '.join(rule.id for rule in explanation.rules)}"
    yield from _changes(explanation.changes)


def _changes(changes: tuple[Change, ...]) -> Iterator[str]:
    if changes:
        yield ""
        yield f"What to change ({changes[0].rule}):"
    for change in changes:
        yield f"  {change.tool:<6} {change.text}"


def _named(error: CudaError) -> str:
    names = " / ".join(name for name in (error.driver_name, error.runtime_name) if name)
    return f"{error.code} {names}: {error.message}"
