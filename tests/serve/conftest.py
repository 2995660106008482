from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import pytest

from pipeline.engine.process import ProcessEngine
from pipeline.machine import this_machine
from pipeline.serve.bundle import Place, smoke_bundle
from pipeline.serve.launch import default_settings
from tests import toolchain
from tests.fixture_server import builder

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.engine.interface import ServingEngine
    from pipeline.model.lane import SmokeSettings
    from pipeline.serve.outcome import SmokeReport


class SmokeFixture(Protocol):
    """Smoke the fixture server that fails as ``words`` say (``non-json,leave-child``)."""

    def __call__(
        self, words: str = "", *, engine: ServingEngine | None = None, settings: SmokeSettings | None = None
    ) -> SmokeReport: ...


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for models."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture server as a bundle in a folder."""
    folder = tmp_path_factory.mktemp("bundle") / "fixture-1.0"
    (folder / "bin").mkdir(parents=True)
    shutil.copy(builder.cpu_server(), folder / "bin" / "llama-server")
    return folder


@pytest.fixture
def smoked(bundle: Path, models: Path, tmp_path: Path) -> SmokeFixture:
    def smoke(
        words: str = "", *, engine: ServingEngine | None = None, settings: SmokeSettings | None = None
    ) -> SmokeReport:
        quick = replace(default_settings(bundle), ready_timeout=3.0, token_timeout=3.0, stop_timeout=3.0)
        settings = settings or quick
        place = placed(tmp_path, models, engine=engine)
        told = replace(settings, environment=settings.environment | {"FIXTURE_FAIL": words})
        return smoke_bundle(bundle, lambda: "0" * 64, told, place)

    return smoke


def placed(folder: Path, models: Path, *, engine: ServingEngine | None = None) -> Place:
    return Place(
        machine=this_machine(engine="process"),
        engine=engine or ProcessEngine(os.environ),
        environment=os.environ,
        workspace=folder,
        cache=models,
        log=folder / "logs" / "server.log",
    )


LLAMA = "xllamacpp==2026.10.11549"


@pytest.fixture(scope="session")
def llama() -> Path:
    """A current llama.cpp for the CPU, unpacked: a real server."""
    return toolchain.unpacked(LLAMA)
