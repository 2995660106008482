"""A bundle served inside a container, whose engine must find the same faults as the plain process."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import pytest

from pipeline.engine.docker import DockerEngine
from pipeline.machine import this_machine
from pipeline.model.finding import Status, Verdict
from pipeline.serve.bundle import smoke_bundle
from pipeline.serve.launch import default_settings
from pipeline.serve.outcome import CheckId, Fault
from tests.build.lanes import BOOKWORM
from tests.fixture_server import builder
from tests.serve.conftest import placed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.serve.outcome import SmokeReport

pytestmark = pytest.mark.docker


class Contained(Protocol):
    """Smoke the fixture server, failing as ``words`` say, in a container."""

    def __call__(self, words: str) -> SmokeReport: ...


@pytest.fixture(scope="module")
def engine() -> Iterator[DockerEngine]:
    with DockerEngine.connect() as connected:
        yield connected


@pytest.fixture
def contained(engine: DockerEngine, tmp_path: Path, models: Path) -> Contained:
    bundle = tmp_path / "bundle"
    (bundle / "bin").mkdir(parents=True)
    shutil.copy(builder.static_cpu_server(), bundle / "bin" / "llama-server")
    settings = replace(default_settings(bundle), token_timeout=3.0, stop_timeout=2.0)

    def smoke(words: str) -> SmokeReport:
        place = replace(
            placed(tmp_path, models, engine=engine),
            machine=this_machine(engine="docker"),
            log=tmp_path / "server.log",
            image=engine.ensure(BOOKWORM, lambda _: None).reference,
            lane="test",
        )
        return smoke_bundle(bundle, lambda: "0" * 64, replace(settings, environment={"FIXTURE_FAIL": words}), place)

    return smoke


def test_a_healthy_server_passes_in_a_container(contained: Contained, tmp_path: Path) -> None:
    report = contained("")
    assert report.verdict is Verdict.PASS, report.to_json()
    assert "server is listening" in (tmp_path / "server.log").read_text()


@pytest.mark.parametrize(
    ("words", "check", "fault"),
    [
        ("abort-load", CheckId.READY, Fault.DIES_AT_LOAD),
        ("segv-token", CheckId.FIRST_TOKEN, Fault.DIES_AT_FIRST_TOKEN),
        ("wrong-token", CheckId.EXPECTED_TOKEN, Fault.WRONG_TOKEN),
        ("ignore-sigterm", CheckId.TEARDOWN, Fault.IGNORES_SIGTERM),
    ],
)
def test_faults_have_the_same_names_in_a_container(
    contained: Contained, words: str, check: CheckId, fault: Fault
) -> None:
    report = contained(words)
    assert report.decisive is not None
    assert (report.decisive.id, report.decisive.fault) == (check, fault), report.to_json()
    assert report.decisive.status is Status.FAIL
