"""Device code made by NVIDIA's own tools, once for all tests of the formats."""

from __future__ import annotations

import pytest

from pipeline.formats.budgets import STANDARD
from pipeline.formats.fatbin import ContainerReader, EntryNames
from pipeline.formats.payload import Examination, Glance
from tests.toolchain import cubin_image, nvfatbin, ptx_image


@pytest.fixture(scope="session")
def plain_fatbin() -> bytes:
    """Toolkit 13.0: cubins for sm_80 and sm_90a, PTX for compute_90, nothing compressed."""
    images = [cubin_image("13.0", "scale", "80"), cubin_image("13.0", "scale", "90a"), ptx_image("13.0", "scale", "90")]
    return nvfatbin("13.0", images, mode="none")


@pytest.fixture(scope="session")
def zstd_fatbin() -> bytes:
    """The same, every image compressed by Zstandard."""
    images = [cubin_image("13.0", "scale", "80"), cubin_image("13.0", "scale", "90a"), ptx_image("13.0", "scale", "90")]
    return nvfatbin("13.0", images, mode="size")


@pytest.fixture
def glance() -> ContainerReader:
    """The reader of a run that is not deep."""
    return ContainerReader(EntryNames(STANDARD.all_entries), Glance(STANDARD), STANDARD)


@pytest.fixture
def examination() -> ContainerReader:
    """The reader of a deep run."""
    return ContainerReader(EntryNames(STANDARD.all_entries), Examination(STANDARD), STANDARD)
