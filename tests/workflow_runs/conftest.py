"""Every situation that a selected test asks for, carried out once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.gpu import standin
from tests.workflow_runs import repository
from tests.workflow_runs.execute import Outcome, Shared, execute
from tests.workflow_runs.situations import SITUATIONS

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE = 2


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    folder = tmp_path_factory.mktemp("shared")
    other = repository.make(folder / "other", [repository.lane("good")], {}, {})
    other.cubingate("run")
    other.cubingate("workflow", "--seal", "lane-good")
    return Shared(
        old=repository.old_release(folder / "old"),
        other=other.folder / ".cubingate" / "sealed" / "lane-good",
        driver=standin.build(folder / "driver"),
        wheels=_wheels(folder / "wheels"),
    )


def _wheels(folder: Path) -> Path:
    """This tree as a wheel, and what it needs."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--wheel-dir", str(folder)]
    subprocess.run([*pip, str(ROOT)], check=True)
    return folder


@pytest.fixture(scope="session")
def outcomes(
    request: pytest.FixtureRequest, shared: Shared, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    """Every situation that a selected test asks for, two at a time."""
    wanted = dict.fromkeys(name for item in request.session.items for name in _asked(item))
    folder = tmp_path_factory.mktemp("runs")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {
            name: pool.submit(execute, SITUATIONS[name], folder / name.replace(" ", "-"), shared) for name in wanted
        }
        return {name: run.result() for name, run in runs.items()}


def _asked(item: pytest.Item) -> list[str]:
    """The situation in a test's parameters."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return [str(parameters["name"])] if parameters.get("name") in SITUATIONS else []
