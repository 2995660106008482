"""One lane of the fixture server for each way of failing is refused for its own reason; the healthy one passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.street import SERVE, Street, write_matrix

if TYPE_CHECKING:
    from pathlib import Path

# Word that makes the fixture server fail → words that the gate's reason must have.
FAULTS = {
    "hang-load": "ready: not ready",
    "exit-load": "ready: ",
    "abort-load": "SIGABRT",
    "segv-load": "SIGSEGV",
    "exit-token": "first-token: ",
    "abort-token": "SIGABRT",
    "segv-token": "SIGSEGV",
    "non-json": "first-token: ",
    "wrong-shape": "first-token: ",
    "wrong-token": "expected-token: ",
    "zero-tokens": "first-token: ",
    "two-tokens": "first-token: ",
    "no-usage": "first-token: ",
    "bad-finish": "first-token: ",
    "error-token": "first-token: ",
    "slow": "first-token: ",
    "router": "ready: ",
    "ignore-sigterm": "teardown: ",
    "leave-child": "teardown: left behind",
}


def lane(name: str) -> dict[str, Any]:
    return {"id": name, "bundle": {"name": f"fixture-{name}", "version": "1.0"}, "smoke": name}


def smoke(word: str) -> dict[str, Any]:
    return {"command": [*SERVE, "--fail", word], "ready_timeout": 3, "token_timeout": 2, "stop_timeout": 3}


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Street:
    """All lanes run once, the healthy one last: a failed lane does not stop the others."""
    folder: Path = tmp_path_factory.mktemp("failing")
    smokes = {word: smoke(word) for word in FAULTS} | {"healthy": {"command": SERVE}}
    street = write_matrix(folder, [*(lane(word) for word in FAULTS), lane("healthy")], smoke=smokes)
    done = street.cubingate("run")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return street


@pytest.fixture(scope="module")
def verdicts(street: Street) -> dict[str, dict[str, Any]]:
    return street.verdicts()


def test_the_healthy_twin_is_approved(verdicts: dict[str, dict[str, Any]]) -> None:
    assert verdicts["healthy"]["verdict"] == "approved"


@pytest.mark.parametrize("word", FAULTS)
def test_each_way_of_failing_is_refused_for_its_own_reason(verdicts: dict[str, dict[str, Any]], word: str) -> None:
    row = verdicts[word]
    assert row["verdict"] == "refused"
    assert row["failed"] == ["smoke@cpu"]
    assert FAULTS[word] in row["reasons"]["smoke@cpu"]


def test_only_the_healthy_lane_is_published(street: Street) -> None:
    assert street.cubingate("publish", "--to", "dist").returncode == 0
    assert [name for name in street.published() if name.endswith(".tar.gz")] == ["fixture-1.0-linux-x86_64.tar.gz"]
