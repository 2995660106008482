"""The family of models: same bytes everywhere, the known token wins by the work of every layer."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.serve.cases import CASES, Case
from pipeline.serve.generated.recipe import RECIPES, Recipe, recipe
from pipeline.serve.generated.reference import Llama
from pipeline.serve.generated.vocabulary import DECOY, KNOWN, encode
from pipeline.serve.model import generated_model

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.serve.generated.reference import Array
    from tests.serve.generated.conftest import Read

DIGESTS = {
    "tiny": "4ba5a8df6d970134d18d9d74d517cc7493c74bc73a94f6094506f68602da63be",
    "f32": "387c63e5be97b0ed7e9da89c4e84809ac7a08053498377fa830d7204fd2173d8",
    "f16": "fc29342b7c7609849daa4c59a6bc2431689b035ee708e23197785951fbf46e37",
    "bf16": "cc246b586446f590ee75f48cf541dedc456edd4b384e487167a804748efbc9cf",
    "q8_0": "d02b036219eea1bc6b952e4f69b4a3c049733d017af09abf2f5ce5b11adbbdc0",
    "q4_0": "d823cd3bd87fe866c239be747b77c5fee98325876895d691e79053183a0e5f72",
    "q4_k": "f39e50f11630f14f2e8b61721164a6d1a6c1622d7ffd6c14edd8fe2348a2d960",
    "q6_k": "71db3f77ef2dd8666add79336e5ab021b67db6ab5e130a457d9d45c191232816",
    "iq4_nl": "676c02da1c5c6dfce49d84c0abd2359cc7286fb3d5428df098c8dbe3ee85b4a1",
    "iq4_xs": "f31f8106087b46bcf88acf4842e50368568c9f1d452237c3d2655269ad661c43",
    "iq3_xxs": "1918e65f22832af49c074072a9855f7d946f72e0c7dedbb50f57db7c566ff70c",
    "iq2_xxs": "a2b977d3da2af73d796cddc22c6413b3c6d991918b79d473e1d16bb0fa94b98e",
    "moe-f16": "04f20109774e9ce027636fb9b391d44109e5d2b97b77a935cc004a2b13cb6c4f",
    "moe-q8_0": "b7f4f4b8b4d6713dcb478dae15be23bb41340328468aef048a264bb69d7da361",
    "moe-q4_k": "7e7ae3fed5a74a48c9c9bd40abe03d3e5d13a7439506b4d341a254b76a8c7bff",
}
BYTES = range(3, 259)
SHORT = encode("Answer with one word.")
CHAIN = ("attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
every = pytest.mark.parametrize("name", [made.name for made in RECIPES])


@every
def test_the_bytes_are_the_same_everywhere(models: Path, name: str) -> None:
    model = generated_model(recipe(name), models)
    assert model.sha256 == DIGESTS[name]
    assert model.path.stat().st_size < 3_000_000


def margin(row: Array) -> float:
    """By how many nats the known token leads; negative when another one does."""
    return float(row[KNOWN] - np.delete(row, KNOWN).max())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_known_token_leads_by_more_than_three_nats_after_every_prompt_that_is_asked(case: Case, read: Read) -> None:
    assert case.recipe is not None
    for prompt in case.prompts:
        tokens = encode(prompt)
        rows = read(case.recipe.name).log_probabilities([*tokens, *[KNOWN] * 3])[len(tokens) - 1 :]
        assert min(map(margin, rows)) > 3


def prompts(count: int, longest: int) -> list[list[int]]:
    chance = random.Random(20261130)
    drawn = [[1, *chance.choices(BYTES, k=chance.randint(0, longest))] for _ in range(count)]
    # The extremes that chance does not draw: nothing at all, and each byte alone, many times over.
    return [*drawn, [1], *([1, *[byte] * 40] for byte in list(BYTES)[::16]), list(BYTES), [1, *[KNOWN, DECOY] * 20]]


def test_the_tiny_model_s_token_leads_whatever_the_prompt(read: Read) -> None:
    assert min(margin(read("tiny").log_probabilities(prompt)[-1]) for prompt in prompts(30, 100)) > 4


@every
def test_a_matrix_that_multiplies_to_zero_lets_the_decoy_win(name: str, read: Read) -> None:
    model = read(name)
    for layer in (0, 1):
        for part in CHAIN:
            row = without(model, layer, part).log_probabilities(SHORT)[-1]
            assert int(row.argmax()) == DECOY, (layer, part)


def without(model: Llama, layer: int, part: str) -> Llama:
    (name,) = {f"blk.{layer}.{part}.weight", f"blk.{layer}.{part}_exps.weight"} & model.weights.keys()
    return Llama(model.recipe, model.weights | {name: np.zeros_like(model.weights[name])})


def test_not_a_number_anywhere_spoils_the_answer(read: Read) -> None:
    model = read("tiny")
    spoiled = model.weights | {"blk.0.attn_q.weight": model.weights["blk.0.attn_q.weight"] * np.nan}
    assert np.isnan(Llama(model.recipe, spoiled).log_probabilities(SHORT)[-1]).all()


@pytest.mark.parametrize("name", [made.name for made in RECIPES if made.experts])
def test_no_token_is_undecided_between_experts_and_several_work(name: str, read: Read) -> None:
    model = read(name)
    gaps, busy = [], []
    shares = Llama.expert_shares

    def watched(self: Llama, stream: Array, layer: int) -> Array:
        ranked = np.sort(stream @ self.weights[f"blk.{layer}.ffn_gate_inp.weight"].T, axis=-1)
        gaps.append(float((ranked[:, -2] - ranked[:, -3]).min()))
        answer = shares(self, stream, layer)
        busy.append(int((answer > 0).any(axis=0).sum()))
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Llama, "expert_shares", watched)
        model.log_probabilities([*SHORT, *[KNOWN] * 3])
    assert min(gaps) > 0.02
    assert min(busy) > 2


def test_every_shape_that_users_hit_is_there() -> None:
    def having(attribute: str) -> set[object]:
        return {getattr(made, attribute) for made in RECIPES}

    assert having("head") == {64, 128}
    usual = {"F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_K", "Q6_K"}
    assert usual | {"IQ4_NL", "IQ4_XS", "IQ3_XXS", "IQ2_XXS"} <= having("packing")
    assert any(shared(made) > 1 for made in RECIPES)
    assert any(shared(made) == 1 for made in RECIPES)
    words = {case.words[:2] for case in CASES}
    assert {("-fa", "on"), ("-fa", "off"), ("-b", "64"), ("-np", "2")} <= words
    assert any(case.stream for case in CASES)


def shared(made: Recipe) -> int:
    return made.heads // made.heads_kv
