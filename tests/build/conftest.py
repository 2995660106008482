"""The engine of this machine, and a lane that compiles in a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.build.lanes import tiny_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.engine.docker import DockerEngine


@pytest.fixture(scope="session")
def engine() -> Iterator[DockerEngine]:
    from pipeline.engine.docker import DockerEngine

    with DockerEngine.connect() as connected:
        yield connected


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tiny_project(tmp_path / "project")
