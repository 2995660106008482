"""Pack matrices into GGML's block formats, those too that the ``gguf`` library can only unpack.

Written after the layouts in ggml/src/ggml-common.h and the unpacking in gguf-py/gguf/quants.py of llama.cpp. Nothing
here looks for the best scales as a real quantizer does: the reference reads back whatever was stored. Only elementwise
arithmetic is used, which rounds alike on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Bytes = npt.NDArray[np.uint8]

_SUPER = 256


def packed(matrix: Floats, packing: str) -> Bytes | Floats | npt.NDArray[np.float16]:
    """``matrix`` as GGUF stores it; ``KeyError`` for a packing nobody here can write."""
    import gguf
    from gguf.quants import quantize

    if packing in _OWN:
        size = 32 if packing == "IQ4_NL" else _SUPER
        blocks = _OWN[packing](np.ascontiguousarray(matrix, np.float32).reshape(-1, size))
        return blocks.reshape(*matrix.shape[:-1], -1)
    return np.asarray(quantize(matrix, gguf.GGMLQuantizationType[packing]))


def _half(values: Floats) -> Bytes:
    """One half-precision number to a block, as bytes."""
    return np.ascontiguousarray(values.reshape(-1, 1).astype("<f2")).view(np.uint8)


def _single(stored: Bytes) -> Floats:
    return stored.view("<f2").astype(np.float32)


def _safe(values: Floats) -> Floats:
    """Divisors: a block of zeros divides by one."""
    return np.where(values == 0, np.float32(1), values)


def _rounded(values: Floats, low: int, high: int) -> npt.NDArray[np.int32]:
    return np.clip(np.rint(values), low, high).astype(np.int32)


def _q4_k(blocks: Floats) -> Bytes:
    """8 parts of 32: weight = d * scale * q - dmin * minimum; q of 4 bits, scale and minimum of 6."""
    parts = blocks.reshape(-1, 8, 32)
    low = np.maximum(-parts.min(axis=2), np.float32(0))
    step = (parts.max(axis=2) + low) / np.float32(15)
    d, dmin = _half(step.max(axis=1) / np.float32(63)), _half(low.max(axis=1) / np.float32(63))
    scale, minimum = _rounded(step / _safe(_single(d)), 1, 63), _rounded(low / _safe(_single(dmin)), 0, 63)
    offset = (_single(dmin) * minimum.astype(np.float32))[:, :, None]
    q = _rounded((parts + offset) / _safe(_single(d) * scale.astype(np.float32))[:, :, None], 0, 15).astype(np.uint8)
    first, second = (six.astype(np.uint8) for six in (scale, minimum))
    sixes = [
        (first[:, :4] & 63) | (first[:, 4:] >> 4 << 6),
        (second[:, :4] & 63) | (second[:, 4:] >> 4 << 6),
        (first[:, 4:] & 15) | (second[:, 4:] & 15) << 4,
    ]
    return np.hstack([d, dmin, *sixes, (q[:, 0::2] | q[:, 1::2] << 4).reshape(-1, 128)])


def _q6_k(blocks: Floats) -> Bytes:
    """16 parts of 16: weight = d * scale * q; q of 6 bits from -32, scale of 8."""
    parts = blocks.reshape(-1, 16, 16)
    step = np.abs(parts).max(axis=2) / np.float32(31)
    d = _half(step.max(axis=1) / np.float32(127))
    scale = _rounded(step / _safe(_single(d)), 1, 127)
    q = _rounded(parts / _safe(_single(d) * scale.astype(np.float32))[:, :, None], -32, 31) + 32
    fours = q.reshape(-1, 2, 4, 32).astype(np.uint8)  # in each half, rows of 32
    low = np.concatenate([(fours[:, :, :2] & 15) | (fours[:, :, 2:] & 15) << 4], axis=2)
    high = sum(fours[:, :, row] >> 4 << 2 * row for row in range(4))
    return np.hstack([low.reshape(-1, 128), np.asarray(high, np.uint8).reshape(-1, 64), scale.astype(np.uint8), d])


def _levels() -> npt.NDArray[np.float32]:
    from gguf.quants import IQ4_NL

    return np.array(IQ4_NL.kvalues, np.float32)


def _nearest_level(values: Floats) -> Bytes:
    levels = _levels()
    return np.searchsorted((levels[1:] + levels[:-1]) / np.float32(2), values).astype(np.uint8)


def _iq4_nl(blocks: Floats) -> Bytes:
    """32 weights: d * level, one of 16 uneven levels."""
    d = _half(np.abs(blocks).max(axis=1) / np.float32(113))
    q = _nearest_level(blocks / _safe(_single(d)))
    return np.hstack([d, q[:, :16] | q[:, 16:] << 4])


def _iq4_xs(blocks: Floats) -> Bytes:
    """8 parts of 32: d * scale * level; scale of 6 bits from -32."""
    parts = blocks.reshape(-1, 8, 32)
    step = np.abs(parts).max(axis=2) / np.float32(113)
    d = _half(step.max(axis=1) / np.float32(31))
    scale = _rounded(step / _safe(_single(d)), 1, 31)
    q = _nearest_level(parts / _safe(_single(d) * scale.astype(np.float32))[:, :, None])
    six = (scale + 32).astype(np.uint16)
    high = np.zeros(len(six), "<u2")
    for part in range(8):
        high |= (six[:, part] >> 4) << 2 * part
    low = (six[:, 0::2] & 15) | (six[:, 1::2] & 15) << 4
    codes = (q[..., :16] | q[..., 16:] << 4).reshape(-1, 128)
    return np.hstack([d, high.reshape(-1, 1).view(np.uint8), low.astype(np.uint8), codes])


def _iq3_xxs(blocks: Floats) -> Bytes:
    """Groups of 4 from a grid of 256, signs of 8 in 7 bits, a scale of 4 bits (always 7 here) to each 32."""
    d, signs, codes = _in_grid(blocks, "IQ3_XXS", 4, np.float32(0.5 * 7.5), (28, 62))
    return np.hstack([d, codes.reshape(-1, 64), _with_scale(signs).view(np.uint8).reshape(-1, 32)])


def _iq2_xxs(blocks: Floats) -> Bytes:
    """Groups of 8 from a grid of 256, signs of 8 in 7 bits, a scale of 4 bits (always 7 here) to each 32."""
    d, signs, codes = _in_grid(blocks, "IQ2_XXS", 8, np.float32(0.25 * 7.5), (8, 43))
    words = np.ascontiguousarray(codes.reshape(-1, 8, 4)).view("<u4").reshape(-1, 8)
    pairs = np.ascontiguousarray(np.stack([words, _with_scale(signs)], axis=2))
    return np.hstack([d, pairs.view(np.uint8).reshape(-1, 64)])


def _in_grid(
    blocks: Floats, kind: str, group: int, unit: np.float32, tops: tuple[int, int]
) -> tuple[Bytes, npt.NDArray[np.uint32], Bytes]:
    """Half-precision scales, signs and codes. Even blocks take the first of ``tops`` as their largest size."""
    sizes = np.abs(blocks)
    even = sizes.min(axis=1) == sizes.max(axis=1)
    d = _half(sizes.max(axis=1) / unit / np.where(even, np.float32(tops[0]), np.float32(tops[1])))
    signs, whole = _even_signs(blocks / _safe(_single(d) * unit))
    return d, signs, _nearest_in_grid(whole.reshape(-1, group), kind)


def _with_scale(signs: npt.NDArray[np.uint32]) -> Any:
    """Four times seven bits of signs and the scale in one word to each 32 weights."""
    groups = signs.reshape(-1, 8, 4)
    word = np.full(groups.shape[:2], 7 << 28, "<u4")
    for place in range(4):
        word |= groups[:, :, place] << np.uint32(7 * place)
    return np.ascontiguousarray(word)


def _even_signs(blocks: Floats) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
    """Seven sign bits for eight weights, whose eighth makes their number even, and the weights' sizes.

    Where the number of minuses is odd, the smallest weight changes its sign.
    """
    eights = blocks.reshape(-1, 8)
    minus = eights < 0
    rows = np.flatnonzero(minus.sum(axis=1) % 2)
    smallest = np.abs(eights[rows]).argmin(axis=1)
    minus[rows, smallest] ^= True
    bits = sum(minus[:, place].astype(np.uint32) << np.uint32(place) for place in range(7))
    return np.asarray(bits, np.uint32), _rounded(np.abs(eights), 0, 255)


def _nearest_in_grid(sizes: npt.NDArray[np.int32], kind: str) -> Bytes:
    """For each group the nearest point of the grid, the first of several.

    All numbers are whole and below 2^24, so that sums are exact in whatever order a machine adds.
    """
    import gguf
    from gguf.quants import _type_traits

    trait = _type_traits[gguf.GGMLQuantizationType[kind]]
    trait.init_grid()  # type: ignore[no-untyped-call]
    grid = np.asarray(trait.grid, np.float32).reshape(trait.grid_shape)
    lengths = (grid**2).sum(axis=1)
    parts = np.array_split(sizes.astype(np.float32), 1 + len(sizes) // 4096)
    return np.concatenate([(lengths - 2 * (part @ grid.T)).argmin(axis=1) for part in parts]).astype(np.uint8)


_OWN: dict[str, Callable[[Floats], Bytes]] = {
    "Q4_K": _q4_k,
    "Q6_K": _q6_k,
    "IQ4_NL": _iq4_nl,
    "IQ4_XS": _iq4_xs,
    "IQ3_XXS": _iq3_xxs,
    "IQ2_XXS": _iq2_xxs,
}
