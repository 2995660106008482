"""The engine of this machine and a small base image on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.build.lanes import BOOKWORM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.engine.base_image import ReadyImage
    from pipeline.engine.docker import DockerEngine


@pytest.fixture(scope="session")
def engine() -> Iterator[DockerEngine]:
    from pipeline.engine.docker import DockerEngine

    with DockerEngine.connect() as connected:
        yield connected


@pytest.fixture(scope="session")
def base(engine: DockerEngine) -> ReadyImage:
    return engine.ensure(BOOKWORM, lambda _: None)
