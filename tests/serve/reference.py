"""The llama forward pass in numpy, over the weights as they stand in a GGUF: what a correct server computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gguf import GGUFReader, dequantize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

HEAD = 128
EPSILON = 1e-5
THETA = 10000.0


def read_weights(path: Path) -> dict[str, Array]:
    return {
        tensor.name: dequantize(tensor.data, tensor.tensor_type).astype(np.float64)
        for tensor in GGUFReader(path).tensors
    }


def logits(weights: dict[str, Array], tokens: Sequence[int], *, broken: Iterable[str] = ()) -> Array:
    """Logits after the last token; the matrices named in ``broken`` multiply to zero."""
    weights = weights | {name: np.zeros_like(weights[name]) for name in broken}
    stream = weights["token_embd.weight"][list(tokens)]
    layer = 0
    while f"blk.{layer}.attn_q.weight" in weights:
        part = {name.split(".")[2]: array for name, array in weights.items() if name.startswith(f"blk.{layer}.")}
        stream = stream + _attention(_norm(stream), part)
        stream = stream + _feed_forward(_norm(stream), part)
        layer += 1
    return np.asarray(_norm(stream[-1]) @ weights["output.weight"].T)


def _norm(stream: Array) -> Array:
    return np.asarray(stream / np.sqrt((stream**2).mean(axis=-1, keepdims=True) + EPSILON))


def _feed_forward(stream: Array, part: dict[str, Array]) -> Array:
    gate = stream @ part["ffn_gate"].T
    return np.asarray((gate / (1 + np.exp(-gate)) * (stream @ part["ffn_up"].T)) @ part["ffn_down"].T)


def _attention(stream: Array, part: dict[str, Array]) -> Array:
    length = len(stream)
    key, value = _rotate(stream @ part["attn_k"].T), stream @ part["attn_v"].T
    query = stream @ part["attn_q"].T
    heads = []
    for head in np.split(query, query.shape[1] // HEAD, axis=1):
        score = _rotate(head) @ key.T / np.sqrt(HEAD)
        score = np.where(np.tri(length, dtype=bool), score, -np.inf)
        weight = np.exp(score - score.max(axis=1, keepdims=True))
        heads.append(weight / weight.sum(axis=1, keepdims=True) @ value)
    return np.asarray(np.concatenate(heads, axis=1) @ part["attn_output"].T)


def _rotate(head: Array) -> Array:
    angle = np.arange(len(head))[:, None] * THETA ** (-np.arange(0, HEAD, 2) / HEAD)
    even, odd = head[:, 0::2], head[:, 1::2]
    turned = np.empty_like(head)
    turned[:, 0::2] = even * np.cos(angle) - odd * np.sin(angle)
    turned[:, 1::2] = even * np.sin(angle) + odd * np.cos(angle)
    return turned
