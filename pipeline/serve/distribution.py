"""Compare the log-probabilities that a server names with the reference's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pipeline.serve.outcome import CheckFailed, Fault

if TYPE_CHECKING:
    from pipeline.serve.answer import Completion, Token
    from pipeline.serve.expectation import Expectation

ALTERNATIVES = 20  # what OpenAI's interface gives at most
_FEWEST = 5
_FLAT = 0.05  # nats between the first and the last alternative: no model's answer


def distance(completion: Completion, expected: Expectation, tolerance: float) -> float:
    """The largest distance (nats) of any log-probability that the server names from the reference's.

    ``CheckFailed`` when it names none, none that are numbers, the same for all, or ones further away than
    ``tolerance``; and when it read another prompt than it was sent.
    """
    if completion.prompt_tokens is not None and completion.prompt_tokens != expected.prompt_tokens:
        raise CheckFailed(
            Fault.OTHER_PROMPT, f"read {completion.prompt_tokens} tokens of a prompt that has {expected.prompt_tokens}"
        )
    if len(completion.tokens) != len(expected.positions):
        raise CheckFailed(
            Fault.NO_LOG_PROBABILITIES,
            f"named the log-probabilities of {len(completion.tokens)} of {len(expected.positions)} tokens",
        )
    pairs = enumerate(zip(completion.tokens, expected.positions, strict=True), 1)
    return max(_distance(number, token, row, tolerance) for number, (token, row) in pairs)


def _distance(number: int, token: Token, row: dict[bytes, float], tolerance: float) -> float:
    named = _numbers(number, token)
    known = {text: value for text, value in named.items() if text in row}
    if len(known) < _FEWEST:
        raise CheckFailed(
            Fault.NO_LOG_PROBABILITIES, f"token {number}: named {len(known)} alternatives of {ALTERNATIVES}"
        )
    if max(named.values()) - min(named.values()) < _FLAT:
        raise CheckFailed(Fault.FLAT, f"token {number}: all alternatives are equally likely")
    if sum(map(math.exp, named.values())) > 1.01:
        raise CheckFailed(Fault.WRONG_DISTRIBUTION, f"token {number}: the probabilities add up to more than 1")
    top = max(row, key=lambda text: row[text])
    if token.text != top:
        raise CheckFailed(Fault.WRONG_TOKEN, f"token {number}: answered {token.text!r}, the reference {top!r}")
    worst = max(known, key=lambda text: abs(known[text] - row[text]))
    off = abs(known[worst] - row[worst])
    if off > tolerance:
        raise CheckFailed(
            Fault.WRONG_DISTRIBUTION,
            f"token {number}: log-probability {known[worst]:.3f} for {worst!r}, the reference has {row[worst]:.3f}; "
            f"{tolerance:g} apart would do",
        )
    _none_missing(number, named, row, tolerance)
    return off


def _numbers(number: int, token: Token) -> dict[bytes, float]:
    named = {text: value for text, value in token.alternatives.items() if value is not None and math.isfinite(value)}
    if len(named) != len(token.alternatives):
        raise CheckFailed(Fault.NOT_A_NUMBER, f"token {number}: log-probabilities that are no numbers")
    return named


def _none_missing(number: int, named: dict[bytes, float], row: dict[bytes, float], tolerance: float) -> None:
    """The list must hold everything that is clearly likelier than its last."""
    last = min(named.values())
    for text, value in row.items():
        if text not in named and value > last + tolerance:
            raise CheckFailed(Fault.WRONG_DISTRIBUTION, f"token {number}: {text!r} is missing among the likeliest")
