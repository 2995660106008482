"""Blocks written here, unpacked by the ``gguf`` library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest
from gguf import dequantize

from pipeline.serve.generated.packing import packed
from pipeline.serve.generated.recipe import recipe
from pipeline.serve.generated.weights import direction

if TYPE_CHECKING:
    import numpy.typing as npt

# How much of a matrix of noise is lost, as a part of its root mean square: what so many bits can hold.
LOST = {"Q4_K": 0.07, "Q6_K": 0.02, "IQ4_NL": 0.08, "IQ4_XS": 0.09, "IQ3_XXS": 0.22, "IQ2_XXS": 0.36}
every = pytest.mark.parametrize("packing", list(LOST))


def unpacked(matrix: npt.NDArray[np.float32], packing: str) -> npt.NDArray[np.float32]:
    return np.asarray(dequantize(np.asarray(packed(matrix, packing)), gguf.GGMLQuantizationType[packing]))


@every
def test_noise_survives_as_far_as_the_bits_reach(packing: str) -> None:
    noise = np.random.Generator(np.random.PCG64(7)).uniform(-1, 1, (16, 512)).astype(np.float32)
    lost = unpacked(noise, packing) - noise
    assert np.sqrt((lost**2).mean() / (noise**2).mean()) < LOST[packing]


@every
def test_a_row_of_one_size_keeps_its_signs_and_nearly_its_size(packing: str) -> None:
    row = np.tile(direction(recipe("q4_k"), 2) * np.float32(0.0195), (4, 1))
    kept = unpacked(row, packing)
    assert (np.sign(kept) == np.sign(row)).all()
    assert np.abs(kept).min() > 0.91 * 0.0195
    assert np.abs(kept).max() < 1.05 * 0.0195


@every
def test_zeros_stay_zeros(packing: str) -> None:
    assert not unpacked(np.zeros((2, 256), np.float32), packing).any()


def test_a_type_that_nobody_can_write_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        packed(np.zeros((2, 256), np.float32), "Q3_K")
