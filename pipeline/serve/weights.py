"""Weights of a tiny llama whose first token is the work of every layer, not of chance.

Each embedding carries the same signal on channel 0 besides noise of its own. The first attention copies it to
channel 1, the first feed-forward to channel 2, the second layer to 3 and 4. The known token's output row reads
channel 4, the decoy's reads channel 0: where one matrix product of the chain comes out as zero, the decoy wins.
The signal is the same at every position, so attention passes it on whatever it attends to, and the prompt and
the position change only the noise.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float32]

WIDTH = 128
FEED_FORWARD = 256
LAYERS = 2
HEADS = 2
HEADS_KV = 1
HEAD = 128  # real models' head size: the flash-attention kernels of ggml-cuda are made for it
EPSILON = 1e-5
NOISE = 0.02
EMBEDDING_NOISE = 0.1  # tokens must differ by far more than rounding


class Tap(NamedTuple):
    """One deliberate weight: matrix element [row, column] that carries the signal on."""

    row: int
    column: int
    value: float


# Gains keep every channel of the signal near 1 in the residual stream, so that each layer sees its input well
# above the noise.
_TAPS: dict[str, Tap] = {
    "blk.0.attn_v.weight": Tap(0, 0, 0.125),
    "blk.0.attn_output.weight": Tap(1, 0, 0.75),
    "blk.0.ffn_gate.weight": Tap(0, 1, 0.28),
    "blk.0.ffn_up.weight": Tap(0, 1, 0.18),
    "blk.0.ffn_down.weight": Tap(2, 0, 0.5),
    "blk.1.attn_v.weight": Tap(0, 2, 0.22),
    "blk.1.attn_output.weight": Tap(3, 0, 0.8),
    "blk.1.ffn_gate.weight": Tap(0, 3, 0.35),
    "blk.1.ffn_up.weight": Tap(0, 3, 0.25),
    "blk.1.ffn_down.weight": Tap(4, 0, 0.5),
}
_KNOWN_GAIN = 1.25
_DECOY_GAIN = 0.6
_SHAPES: dict[str, tuple[int, int]] = {
    "attn_q": (HEADS * HEAD, WIDTH),
    "attn_k": (HEADS_KV * HEAD, WIDTH),
    "attn_v": (HEADS_KV * HEAD, WIDTH),
    "attn_output": (WIDTH, HEADS * HEAD),
    "ffn_gate": (FEED_FORWARD, WIDTH),
    "ffn_up": (FEED_FORWARD, WIDTH),
    "ffn_down": (WIDTH, FEED_FORWARD),
}


def matrices(vocabulary: int, known: int, decoy: int) -> dict[str, Matrix]:
    """Return every matrix by its GGUF tensor name, rows are outputs; ``known`` and ``decoy`` are token ids."""
    made = {"token_embd.weight": _embedding(vocabulary), "output.weight": _output(vocabulary, known, decoy)}
    for layer in range(LAYERS):
        for part, shape in _SHAPES.items():
            name = f"blk.{layer}.{part}.weight"
            made[name] = _with_tap(_noise(name, shape), _TAPS.get(name))
    return made


def norms() -> dict[str, Matrix]:
    """Return the norm vectors by tensor name: all ones."""
    layers = [f"blk.{layer}.{part}.weight" for layer in range(LAYERS) for part in ("attn_norm", "ffn_norm")]
    return {name: np.ones(WIDTH, np.float32) for name in ("output_norm.weight", *layers)}


def _embedding(vocabulary: int) -> Matrix:
    table = _noise("token_embd.weight", (vocabulary, WIDTH), EMBEDDING_NOISE)
    table[:, 0] = 1.0
    table[:, 1:5] = 0.0
    return table


def _output(vocabulary: int, known: int, decoy: int) -> Matrix:
    rows = _noise("output.weight", (vocabulary, WIDTH))
    rows[known, :5] = (0, 0, 0, 0, _KNOWN_GAIN)
    rows[decoy, :5] = (_DECOY_GAIN, 0, 0, 0, 0)
    return rows


def _with_tap(matrix: Matrix, tap: Tap | None) -> Matrix:
    if tap is not None:
        matrix[tap.row, tap.column] = tap.value
    return matrix


def _noise(name: str, shape: tuple[int, int], reach: float = NOISE) -> Matrix:
    """Uniform noise from the tensor's name: the same bytes on every machine and with every numpy."""
    stream = hashlib.shake_256(name.encode()).digest(math.prod(shape))
    levels = np.frombuffer(stream, np.uint8).astype(np.float32).reshape(shape)
    return (levels - np.float32(127.5)) * np.float32(reach / 127.5)
