"""The llama forward pass in double precision, over the weights as they stand in a GGUF: what a right server computes.

Written from the architecture's definition and sharing nothing with any server, so that a server is measured against
mathematics and not against another build of itself. It reads the weights back out of the file, so that what packing
did to them is in the reference too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.serve.generated.recipe import EPSILON, LAYERS, ROPE_BASE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from pipeline.serve.generated.recipe import Recipe

    Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Llama:
    """A model as mathematics: ``weights`` by tensor name, rows are outputs."""

    recipe: Recipe
    weights: dict[str, Array]

    @classmethod
    def read(cls, recipe: Recipe, path: Path) -> Llama:
        """Read a GGUF's weights, unpacked."""
        from gguf import GGUFReader, dequantize

        tensors = GGUFReader(path).tensors
        return cls(recipe, {item.name: dequantize(item.data, item.tensor_type).astype(np.float64) for item in tensors})

    def log_probabilities(self, tokens: Sequence[int]) -> Array:
        """The logarithm of each token's probability (nats) after every position: positions by vocabulary."""
        stream = self.weights["token_embd.weight"][list(tokens)]
        for layer in range(LAYERS):
            stream = stream + self._attention(_normed(stream), layer)
            stream = stream + self._feed_forward(_normed(stream), layer)
        logits = _normed(stream) @ self.weights["output.weight"].T
        above = logits - logits.max(axis=-1, keepdims=True)
        return np.asarray(above - np.log(np.exp(above).sum(axis=-1, keepdims=True)))

    def _of(self, layer: int, part: str) -> Array:
        return self.weights[f"blk.{layer}.{part}.weight"]

    def _attention(self, stream: Array, layer: int) -> Array:
        recipe = self.recipe
        query, key, value = (
            _heads(stream @ self._of(layer, part).T, recipe.head) for part in ("attn_q", "attn_k", "attn_v")
        )
        shared = recipe.heads // recipe.heads_kv
        key, value = (np.repeat(array, shared, axis=0) for array in (_rotated(key), value))
        score = _rotated(query) @ key.transpose(0, 2, 1) / np.sqrt(recipe.head)
        score = np.where(np.tri(len(stream), dtype=bool), score, -np.inf)
        mixed = _softmax(score) @ value
        return np.asarray(mixed.transpose(1, 0, 2).reshape(len(stream), -1) @ self._of(layer, "attn_output").T)

    def _feed_forward(self, stream: Array, layer: int) -> Array:
        if not self.recipe.experts:
            return _gated(stream, *(self._of(layer, part) for part in ("ffn_gate", "ffn_up", "ffn_down")))
        share = self.expert_shares(stream, layer)
        stacks = [self._of(layer, f"{part}_exps") for part in ("ffn_gate", "ffn_up", "ffn_down")]
        each = [_gated(stream, *(stack[number] for stack in stacks)) for number in range(self.recipe.experts)]
        return np.asarray(sum(share[:, [number]] * answer for number, answer in enumerate(each)))

    def expert_shares(self, stream: Array, layer: int) -> Array:
        """How much each expert counts for each token: those used share one, the others have nothing."""
        chance = _softmax(stream @ self._of(layer, "ffn_gate_inp").T)
        least = np.sort(chance, axis=-1)[:, [-self.recipe.experts_used]]
        kept = np.where(chance >= least, chance, 0.0)
        return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def _normed(stream: Array) -> Array:
    return np.asarray(stream / np.sqrt((stream**2).mean(axis=-1, keepdims=True) + EPSILON))


def _softmax(score: Array) -> Array:
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def _gated(stream: Array, gate: Array, up: Array, down: Array) -> Array:
    opened = stream @ gate.T
    return np.asarray((opened / (1 + np.exp(-opened)) * (stream @ up.T)) @ down.T)


def _heads(stream: Array, size: int) -> Array:
    """Positions by channels → heads by positions by channels of one head."""
    return np.asarray(stream.reshape(len(stream), -1, size).transpose(1, 0, 2))


def _rotated(heads: Array) -> Array:
    """Rotary position embedding on neighbouring channels, as GGUFs of this architecture lay them out."""
    _, length, size = heads.shape
    angle = np.arange(length)[:, None] * ROPE_BASE ** (-np.arange(0, size, 2) / size)
    even, odd = heads[..., 0::2], heads[..., 1::2]
    turned = np.empty_like(heads)
    turned[..., 0::2] = even * np.cos(angle) - odd * np.sin(angle)
    turned[..., 1::2] = even * np.sin(angle) + odd * np.cos(angle)
    return turned
