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
    "tiny": "2d3486350c342daeac1969d3f6b8ec47bd279c502d3436e1753d535e7987a165",
    "f32": "c0674d8bf618671c32a176e5db12f33b6bcb792db4b70a2daf99bef2d31c22da",
    "f16": "93a37a0fd8f922740d7fb5615f906b42aa7c2ea2a3a11e1ed445e3fdb9637c38",
    "bf16": "2e8c0052f22cf9a08e81e741e21270a80204251465883248bdcc3abfe971aa0d",
    "q8_0": "e69a8bf1904f58e5129015404a0bafcc8066b5f175a9b2feb9643e68c18cecfb",
    "q4_0": "7ca99e811631252e0ede394b9ec23e929c07cf8ebda91d327648fc078af3a6f1",
    "q4_k": "ed450e1dd3f925055a9f641e89238555a9f17a05e4f798a76d804b0a33be44f6",
    "q6_k": "d367bb5ebe7c34f69a95b8cf66072ce46e4a0f47abadcb3fd1f63ad463446ff6",
    "iq4_nl": "a3cc5d818198afc56d670668592495630243110f53570bb1fbef34704586ad1d",
    "iq4_xs": "9976b63ca8a204efe8d8add835efc618b9db2f5abc24d3a1020f5f6ca602fef5",
    "iq3_xxs": "95171ec3b9d6c4366a20693a54f067b08f3b1e34f5a389b22d46539ab87e37fe",
    "iq2_xxs": "a63b9d31a6ba877f1cf3180629fb0ba2cddb29831b064783cb6213e4d1494699",
    "moe-f16": "da9339a86c505deb3a9b0e0689f4783d6e0bcc3b647f2587760f58f73d870568",
    "moe-q8_0": "ac76f984507c5f72f6060b5fa30083cd450969ca66094e1bccfa3f47db5ada64",
    "moe-q4_k": "e8337f9af63884869718a6ec35490894b69c5b38eb979c7b522b032ccb6bc420",
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
