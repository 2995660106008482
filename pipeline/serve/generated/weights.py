"""Weights of a tiny llama whose first token is the work of every layer, not of chance.

The stream of activations carries a signal on five orthogonal directions of signs. Each embedding has it on direction
0, besides noise of its own. The first attention copies it to direction 1, the first feed-forward to 2, the second
layer to 3 and 4. The known token's output row reads direction 4, the decoy's reads 0: where one matrix product of the
chain comes out as zero, the decoy wins. The signal is the same at every position, so the token holds whatever
attention attends to. Everything else is noise as strong as a real model's activations: it decides the other tokens'
probabilities, which are therefore the work of rotation, mask, softmax, heads and experts.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.serve.generated.recipe import LAYERS

if TYPE_CHECKING:
    import numpy.typing as npt

    from pipeline.serve.generated.recipe import Recipe

    Matrix = npt.NDArray[np.float32]

_SIGNAL = 1.0  # of each direction in the stream
_TOKENS_DIFFER = 0.8
_KNOWN_GAIN = 26.0
_DECOY_GAIN = 15.0
_ROUTER = 2.0
_EXPERTS_DIFFER = 1.7
# How far a matrix's output is noise, where its input has a mean square of one.
_NOISE = {
    "attn_q": 1.5,
    "attn_k": 1.5,
    "attn_v": 1.4,
    "attn_output": 1.4,
    "ffn_gate": 0.7,
    "ffn_up": 0.7,
    "ffn_down": 0.7,
    "output": 0.7,
}
_SPREAD = 8  # channels that carry the signal side by side: one alone would tower over its block's scale
# What the signal is multiplied with on its way, so that it comes out as strong as it was, in each layer: the norm makes
# it weaker the more there is beside it.
_VALUE, _ATTENTION = (2.5, 4.0), (0.64, 0.8)
_GATE, _UP, _DOWN = (4.5, 6.0), (2.75, 3.75), (0.38, 0.46)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How many tokens there are, and which two matter."""

    size: int
    known: int
    decoy: int


def matrices(recipe: Recipe, vocabulary: Vocabulary) -> dict[str, Matrix]:
    """Return every matrix by its GGUF tensor name, rows are outputs; those of experts are stacked."""
    made = {
        "token_embd.weight": _embedding(recipe, vocabulary.size),
        "output.weight": _output(recipe, vocabulary),
    }
    for layer in range(LAYERS):
        made |= _attention(recipe, layer) | _feed_forward(recipe, layer)
    return made


def norms(recipe: Recipe) -> dict[str, Matrix]:
    """Return the norm vectors by tensor name: all ones."""
    layers = [f"blk.{layer}.{part}.weight" for layer in range(LAYERS) for part in ("attn_norm", "ffn_norm")]
    return {name: np.ones(recipe.width, np.float32) for name in ("output_norm.weight", *layers)}


def direction(recipe: Recipe, number: int) -> Matrix:
    """The signs of one direction of the stream: a row of Hadamard's matrix, its regularity broken by chance.

    Among eight neighbours the minuses are even in number: IQ types store the signs of eight in seven bits.
    """
    row = 51 * number % recipe.width
    regular = np.array([(-1) ** (row & channel).bit_count() for channel in range(recipe.width)], np.float32)
    chance = np.sign(_noise(recipe, "signs", (recipe.width,)))
    chance[::8] *= chance.reshape(-1, 8).prod(axis=1)
    return regular * chance


def _embedding(recipe: Recipe, size: int) -> Matrix:
    table = _noise(recipe, "token_embd", (size, recipe.width)) * np.float32(_TOKENS_DIFFER)
    for number in range(2 * LAYERS + 1):  # noise must not carry the signal
        along = direction(recipe, number)
        table[:, : recipe.width] -= np.outer(_mean_along(table, along), along)
    return table + np.float32(_SIGNAL) * direction(recipe, 0)


def _mean_along(table: Matrix, along: Matrix) -> Matrix:
    """The mean of each row times the signs, summed in one fixed order, so that every machine rounds alike."""
    exact = (table.astype(np.float64) * along).cumsum(axis=1)[:, -1]
    return (exact / len(along)).astype(np.float32)


def _output(recipe: Recipe, vocabulary: Vocabulary) -> Matrix:
    rows = _matrix(recipe, "output", (vocabulary.size, recipe.width))
    for token, gain, number in (
        (vocabulary.known, _KNOWN_GAIN, 2 * LAYERS),
        (vocabulary.decoy, _DECOY_GAIN, 0),
    ):
        rows[token] = _reading(recipe, gain, number)
    return rows


def _attention(recipe: Recipe, layer: int) -> dict[str, Matrix]:
    width, queries, keys = recipe.width, recipe.heads * recipe.head, recipe.heads_kv * recipe.head
    shapes = {"attn_q": (queries, width), "attn_k": (keys, width), "attn_v": (keys, width)}
    made = {part: _matrix(recipe, part, shape, layer) for part, shape in shapes.items()}
    made["attn_output"] = _matrix(recipe, "attn_output", (width, queries), layer)
    # Every head hands on its share: the first channels of its values carry the signal.
    made["attn_v"][_carriers(keys, recipe.head)] = _reading(recipe, recipe.gain * _VALUE[layer], 2 * layer)
    carriers = _carriers(queries, recipe.head)
    share = np.float32(_ATTENTION[layer] / len(carriers))
    made["attn_output"][:, carriers] = share * direction(recipe, 2 * layer + 1)[:, None]
    return {f"blk.{layer}.{part}.weight": matrix for part, matrix in made.items()}


def _feed_forward(recipe: Recipe, layer: int) -> dict[str, Matrix]:
    if not recipe.experts:
        parts = _expert(recipe, layer, "")
        return {f"blk.{layer}.{part}.weight": matrix for part, matrix in parts.items()}
    experts = [_expert(recipe, layer, f".{number}") for number in range(recipe.experts)]
    stacked = {f"blk.{layer}.{part}_exps.weight": np.stack([expert[part] for expert in experts]) for part in experts[0]}
    router = _noise(recipe, f"blk.{layer}.ffn_gate_inp", (recipe.experts, recipe.width))
    return stacked | {f"blk.{layer}.ffn_gate_inp.weight": router * np.float32(_ROUTER / math.sqrt(recipe.width))}


def _expert(recipe: Recipe, layer: int, which: str) -> dict[str, Matrix]:
    width, hidden = recipe.width, recipe.feed_forward
    shapes = {"ffn_gate": (hidden, width), "ffn_up": (hidden, width), "ffn_down": (width, hidden)}
    made = {part: _matrix(recipe, part, shape, layer, which) for part, shape in shapes.items()}
    made["ffn_gate"][:_SPREAD] = _reading(recipe, _GATE[layer], 2 * layer + 1)
    made["ffn_up"][:_SPREAD] = _reading(recipe, recipe.gain * _UP[layer], 2 * layer + 1)
    made["ffn_down"][:, :_SPREAD] = np.float32(_DOWN[layer] / _SPREAD) * direction(recipe, 2 * layer + 2)[:, None]
    return made


def _carriers(channels: int, head: int) -> list[int]:
    return [channel for channel in range(channels) if channel % head < _SPREAD]


def _reading(recipe: Recipe, gain: float, number: int) -> Matrix:
    """A row that answers ``gain`` times the strength of a direction."""
    return np.float32(gain / recipe.width) * direction(recipe, number)


def _matrix(recipe: Recipe, part: str, shape: tuple[int, int], layer: int | None = None, which: str = "") -> Matrix:
    name = part if layer is None else f"blk.{layer}.{part}{which}"
    strength = _NOISE[part] * (_EXPERTS_DIFFER if which else 1)
    return _noise(recipe, name, shape) * np.float32(strength / math.sqrt(shape[1]))


def _noise(recipe: Recipe, name: str, shape: tuple[int, ...]) -> Matrix:
    """Uniform noise with a mean square of one, from the names: the same on every machine and with every numpy."""
    stream = hashlib.shake_256(f"{recipe.name}{recipe.seed or ''}/{name}".encode()).digest(math.prod(shape))
    levels = np.frombuffer(stream, np.uint8).astype(np.float32).reshape(shape)
    return (levels - np.float32(127.5)) * np.float32(math.sqrt(3) / 127.5)
