"""A stand-in driver for every test, and the real GPU for those that ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.machine import InstalledGpu, installed_gpus
from pipeline.policy import Policy, load_policy
from tests.gpu import standin

if TYPE_CHECKING:
    from collections.abc import Callable

    GetPolicy = Callable[[], Policy]
    from pathlib import Path


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return standin.build(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def driver(library: Path, tmp_path: Path) -> standin.StandIn:
    folder = tmp_path / "standin"
    folder.mkdir()
    return standin.StandIn(library, folder)


@pytest.fixture(scope="session")
def policy() -> GetPolicy:
    """The tables, read once."""
    loaded = load_policy()
    return lambda: loaded


@pytest.fixture(scope="session")
def gpus() -> tuple[InstalledGpu, ...]:
    """The GPUs of this machine. A test marked ``gpu`` runs only where one was promised: none is a failure."""
    found = installed_gpus()
    assert found, "CUBINGATE_GPU is set and nvidia-smi shows no GPU"
    return found
