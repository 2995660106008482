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
    "tiny": "41ea27a4a85248a2324b25bf01021b5d05993417c8069e5c09981f4cc96aaad5",
    "f32": "f4efd02b8be94a007c13cb847dfdc996ca6a2df6b9f728dcac491a3407ebfd74",
    "f16": "b94dd97bb7654c043191ecf79a07cc0ba7d2ccab364520dc91828983f22b72b5",
    "bf16": "db7e202dbb296ac1bc9e3636b860d5459a05a025d27060ca22837d67bb46b8f1",
    "q8_0": "9c6f5cbdd3aefb9fafe6bc02f76300ab42c710014a8df539d98c3a36b51fd932",
    "q4_0": "a9184a02fb2add8dc946cf9030f8ad453f0db9434d88ed922d4d4e729db9cf72",
    "q4_k": "9949b1135f2fc3ea1c8258ab8954880a73db8ea59576f877e365d7d85c7674da",
    "q6_k": "133bf0f9dc0cce93d56aef0721b9f6bb90e0ac2b909784f36356e5213f3f4081",
    "iq4_nl": "5a4fcd49b57d9c22dd7554c79cdc97ef716ae0e01973c3e904e10d59a643cb4a",
    "iq4_xs": "6f701505ac6de4842453f4bd7fbfdd0c6fc4c0d3714e5768f506e76ebdb0f4d1",
    "iq3_xxs": "77efa6bbc4c40b2a1a46668ea40778e7f7706e58293174d6d258b55f15a006d6",
    "iq2_xxs": "5dc648ac72bd7e50296f6f0385cce5afe9fcc811574cddd2b49e7e875abde41c",
    "moe-f16": "9fedcad3babf2873ae12ca0e27fc4d0dd3f22b99a813567465d3d55416d3ef76",
    "moe-q8_0": "702de0fa5a1a776bb6b99e57f4c15b0798fef641ca86f2aeaa602183e4b38911",
    "moe-q4_k": "879b3553c6358ffb4944a82fe192f749c5cf4b63472f7876c043627d6ea22eb0",
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
