"""The tolerances: a right server is within them, one that leaves a part of the mathematics out is not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.serve.cases import CASES, Case
from pipeline.serve.distribution import distance
from pipeline.serve.expectation import Expectation, expectation, tolerance
from pipeline.serve.generated import reference
from pipeline.serve.generated.recipe import RECIPES, recipe
from pipeline.serve.generated.reference import Llama
from pipeline.serve.generated.vocabulary import KNOWN, TOKENS, encode, told_bytes
from pipeline.serve.model import generated_model
from pipeline.serve.outcome import CheckFailed, Fault
from tests.fixture_server.told import as_completion
from tests.serve.reading import completion_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.serve.generated.reference import Array

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
dense = pytest.mark.parametrize("name", [made.name for made in RECIPES if not made.experts])
experts = pytest.mark.parametrize("name", [made.name for made in RECIPES if made.experts])


def expected(case: Case, models: Path) -> Expectation:
    assert case.recipe is not None
    model = generated_model(case.recipe, models)
    return expectation(case.recipe, model.path, model.sha256, case.prompts[0])


def answered(case: Case, models: Path) -> Expectation:
    """What a server answers whose mathematics is the reference's as it is patched now."""
    assert case.recipe is not None
    tokens = encode(case.prompts[0])
    model = Llama.read(case.recipe, generated_model(case.recipe, models).path)
    rows = model.log_probabilities([*tokens, *[KNOWN] * 3])[len(tokens) - 1 :]
    printed = [told_bytes(token) for token in range(len(TOKENS))]
    named = tuple(
        {text: float(value) for text, value in zip(printed, row, strict=True) if text is not None} for row in rows
    )
    return Expectation(len(tokens), named)


def verdict(case: Case, models: Path) -> Fault | None:
    assert case.recipe is not None
    said = completion_of(as_completion(answered(case, models)))
    try:
        distance(said, expected(case, models), tolerance(case.recipe, case.words))
    except CheckFailed as failure:
        return failure.fault
    return None


@every_case
def test_the_reference_s_own_answer_is_right(case: Case, models: Path) -> None:
    assert verdict(case, models) is None


def test_what_was_computed_is_kept_and_computed_again_when_it_is_damaged(tmp_path: Path) -> None:
    case = CASES[0]
    assert case.recipe is not None
    first = expected(case, tmp_path)
    (kept,) = generated_model(case.recipe, tmp_path).path.parent.glob("reference-*.json")
    for damage in ("", "[]", "[[1]]", "null"):
        kept.write_text(damage)
        assert expected(case, tmp_path) == first


LEFT_OUT: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "rotation": lambda patch: patch.setattr(reference, "_rotated", lambda heads: heads),
    "scores": lambda patch: patch.setattr(reference, "_softmax", even),
}


def even(score: Array) -> Array:
    """Attention that looks at everything alike."""
    among_experts = score.ndim == 2
    weight = np.exp(score - score.max(axis=-1, keepdims=True)) if among_experts else np.isfinite(score).astype(float)
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("part", LEFT_OUT)
@every_case
def test_attention_that_leaves_a_part_out_is_beyond_the_tolerance(
    case: Case, part: str, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected(case, models)
    LEFT_OUT[part](monkeypatch)
    assert verdict(case, models) in {Fault.WRONG_DISTRIBUTION, Fault.WRONG_TOKEN}


@experts
def test_experts_that_are_chosen_wrongly_are_beyond_the_tolerance(
    name: str, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(case for case in CASES if case.recipe == recipe(name))
    expected(case, models)
    shares = Llama.expert_shares
    monkeypatch.setattr(Llama, "expert_shares", lambda self, stream, layer: np.roll(shares(self, stream, layer), 1, 1))
    assert verdict(case, models) in {Fault.WRONG_DISTRIBUTION, Fault.WRONG_TOKEN}


@dense
def test_one_head_s_worth_of_garbage_is_beyond_the_tolerance(
    name: str, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = replace(next(case for case in CASES if case.recipe == recipe(name)), words=("-fa", "off"))
    expected(case, models)
    read = Llama.read

    def damaged(made: object, path: Path) -> Llama:
        assert made == case.recipe
        model = read(recipe(name), path)
        value = model.weights["blk.1.attn_v.weight"].copy()
        value[: model.recipe.head] = -value[: model.recipe.head]
        return Llama(model.recipe, model.weights | {"blk.1.attn_v.weight": value})

    monkeypatch.setattr(Llama, "read", damaged)
    assert verdict(case, models) in {Fault.WRONG_DISTRIBUTION, Fault.WRONG_TOKEN}


def test_fused_attention_has_more_room_and_packed_weights_most() -> None:
    assert tolerance(recipe("f16"), ("-fa", "off")) < tolerance(recipe("f16"), ("-fa", "on"))
    assert tolerance(recipe("f16"), ()) < tolerance(recipe("q4_k"), ())
