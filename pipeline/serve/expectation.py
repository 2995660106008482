"""What a right server answers with a generated model: the reference's log-probabilities, kept beside the model."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.serve.cases import ANSWER_TOKENS
from pipeline.serve.generated.vocabulary import KNOWN, TOKENS, encode, told_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.serve.generated.recipe import Recipe

_REFERENCE = 1  # goes up when the reference computes something else

# How far a right server may be from mathematics, in nats, by what its products of matrices are rounded to.
#
# Weights are read back as stored, so packing costs nothing. What is left is how a server rounds activations: for F32
# weights to TF32 and for F16 to half precision (a relative 2^-11), for BF16 to 2^-9, and for every packed type to 8
# bits in blocks of 32 to 256 (about 0.7 % of a block's root mean square; llama.cpp's Q8_0, Q8_1 and Q8_K). Fused
# attention adds up in half precision on some devices. Measured against llama.cpp b11434 on a CPU, the largest distances
# are in docs/smoke.md; the tolerances are about three times those. Leaving out rotation or mask, a uniform attention or
# equal shares of experts is further off than the tolerance for every model (tests/serve/test_reference.py).
_TOLERANCES = {"F32": 0.06, "F16": 0.06, "BF16": 0.15}
_PACKED_TOLERANCE = 0.25
_FUSED_ADDS = 0.09


@dataclass(frozen=True, slots=True)
class Expectation:
    """The log-probabilities (nats) of every token that prints something of its own, after a prompt and each answer.

    ``prompt_tokens`` is how many tokens the prompt has.
    """

    prompt_tokens: int
    positions: tuple[dict[bytes, float], ...]


def tolerance(recipe: Recipe, words: tuple[str, ...]) -> float:
    """How far a right server's log-probabilities may be from the reference's, in nats."""
    base = _TOLERANCES.get(recipe.packing, _PACKED_TOLERANCE)
    return base if words[:2] == ("-fa", "off") else round(base + _FUSED_ADDS, 3)


def expectation(recipe: Recipe, model: Path, sha256: str, prompt: str) -> Expectation:
    """The reference's answer to ``prompt`` with the model at ``model``; computed once, then read from beside it.

    Kept numbers that cannot be read are computed again.
    """
    key = hashlib.sha256(f"{_REFERENCE}\0{sha256}\0{prompt}".encode()).hexdigest()[:16]
    kept = model.with_name(f"reference-{key}.json")
    tokens = encode(prompt)
    try:
        rows = _checked(json.loads(kept.read_text()))
    except (OSError, ValueError):
        rows = _computed(recipe, model, tokens)
        _keep(kept, rows)
    printed = [told_bytes(token) for token in range(len(TOKENS))]
    named = ({text: value for text, value in zip(printed, row, strict=True) if text is not None} for row in rows)
    return Expectation(len(tokens), tuple(named))


def _checked(rows: object) -> list[list[float]]:
    good = isinstance(rows, list) and len(rows) == ANSWER_TOKENS
    if not good or not all(isinstance(row, list) and len(row) == len(TOKENS) for row in rows):  # type: ignore[attr-defined]
        raise ValueError("not what was kept")
    return [[float(value) for value in row] for row in rows]  # type: ignore[attr-defined]


def _computed(recipe: Recipe, model: Path, tokens: list[int]) -> list[list[float]]:
    from pipeline.serve.generated.reference import Llama  # imports numpy

    answered = [*tokens, *[KNOWN] * (ANSWER_TOKENS - 1)]
    rows = Llama.read(recipe, model).log_probabilities(answered)[len(tokens) - 1 :]
    return [[round(float(value), 6) for value in row] for row in rows]


def _keep(path: Path, rows: list[list[float]]) -> None:
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(json.dumps(rows))
    scratch.replace(path)
