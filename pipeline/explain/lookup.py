"""Finds what a user asks about: a rule by its id, a CUDA error by number, name or text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.explain.advice import ADVICE, Advice
from pipeline.explain.changes import CHANGES, Change
from pipeline.explain.topics import TOPICS, topic_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.explain.topic import Topic
    from pipeline.policy import Policy
    from pipeline.policy.rows import CudaError

_SHORTEST_TEXT = 8
_CODE = re.compile(r"(?:CUDA[ _](?:driver )?error|cuda error|error code)[^0-9a-zA-Z]{0,3}([0-9]{1,3})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """A rule, loss or lint: its documentation, the errors that its violation shows as, and what to change."""

    topic: Topic
    errors: tuple[CudaError, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class ErrorExplanation:
    """A CUDA error: what it means for a released binary, and the rules that find its causes."""

    error: CudaError
    advice: Advice | None
    rules: tuple[Topic, ...]
    changes: tuple[Change, ...]


def explain(query: str, policy: Policy) -> RuleExplanation | ErrorExplanation:
    """Look up a rule or CUDA error; ``UsageError`` with the nearest names when there is none."""
    wanted = query.strip()
    topic = topic_named(wanted.lower())
    if topic is not None:
        return explain_topic(topic, policy)
    found = find_error(wanted, policy)
    if found is not None:
        return explain_error(found, policy)
    raise UsageError(f"{wanted!r} is neither a rule nor a CUDA error", remedy=_nearest(wanted, policy))


def explain_topic(topic: Topic, policy: Policy) -> RuleExplanation:
    """Everything about a rule."""
    codes = [advice.code for advice in ADVICE if any(item.rule == topic.id for item in advice.candidates)]
    return RuleExplanation(
        topic=topic,
        errors=tuple(error for error in policy.errors if error.code in codes),
        changes=tuple(change for change in CHANGES if change.rule == topic.id),
    )


def explain_error(error: CudaError, policy: Policy) -> ErrorExplanation:
    """Everything about a CUDA error."""
    del policy
    advice = next((item for item in ADVICE if item.code == error.code), None)
    named = [item.rule for item in advice.candidates] if advice else []
    return ErrorExplanation(
        error=error,
        advice=advice,
        rules=tuple(topic for topic in TOPICS if topic.id in named),
        changes=tuple(change for change in CHANGES if change.rule == (named[0] if named else "")),
    )


def find_error(query: str, policy: Policy) -> CudaError | None:
    """The error with this number, this name, or this text (a distinctive part of it is enough)."""
    if query.isascii() and query.isdigit():
        return next((error for error in policy.errors if error.code == int(query)), None)
    wanted = query.lower()
    for error in policy.errors:
        names = {error.driver_name.lower(), error.runtime_name.lower(), *_short_names(error), _plain(error.message)}
        if _plain(wanted) in names - {""}:
            return error
    return next(iter(errors_in(query, policy)), None) or _by_part(_plain(wanted), policy)


def errors_in(log: str, policy: Policy) -> tuple[CudaError, ...]:
    """CUDA errors that a log names, those with known advice first, then in the order of the table."""
    text = _plain(log.lower())
    found = [error for error in policy.errors if error.code and _named_in(error, log, text)]
    found += [error for match in _CODE.finditer(log) for error in policy.errors if error.code == int(match[1]) != 0]
    advised = {advice.code for advice in ADVICE}
    ordered = sorted(dict.fromkeys(found), key=lambda error: error.code not in advised)
    # Two errors share the text "device kernel image is invalid" (200 and 300): the one with advice is meant.
    first = {error.message: error for error in reversed(ordered)}
    return tuple(error for error in ordered if first[error.message] == error)


def _named_in(error: CudaError, log: str, text: str) -> bool:
    words = (error.driver_name, error.runtime_name)
    if any(word and re.search(rf"\b{word}\b", log) for word in words):
        return True
    message = _plain(error.message)
    return " " in message and len(message) >= _SHORTEST_TEXT and message in text


def _by_part(text: str, policy: Policy) -> CudaError | None:
    if len(text) < _SHORTEST_TEXT:
        return None
    fitting = [error for error in policy.errors if text in _plain(error.message)]
    return fitting[0] if len(fitting) == 1 else None


def _plain(text: str) -> str:
    return text.lower().strip().rstrip(".")


def _short_names(error: CudaError) -> Iterator[str]:
    """``INVALID_IMAGE``, ``InvalidKernelImage``."""
    yield error.driver_name.removeprefix("CUDA_ERROR_").lower()
    yield error.runtime_name.removeprefix("cudaError").lower()


def _nearest(query: str, policy: Policy) -> str:
    names = [topic.id for topic in TOPICS]
    names += [name for error in policy.errors for name in (error.driver_name, error.runtime_name) if name]
    close = get_close_matches(query, names, n=3, cutoff=0.5)
    return f"did you mean {', '.join(close)}?" if close else f"rules: {', '.join(topic.id for topic in TOPICS)}"
