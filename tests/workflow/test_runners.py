"""``plan --runners``: whether somebody has the runners that the plan asks for, as far as GitHub may be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipeline.cli import run
from tests.matrix.files import CPU, CUDA, HEAD, write
from tests.workflow.actions_server import TOKEN, Repository, runner, serving

if TYPE_CHECKING:
    from pathlib import Path

SERVED = ("self-hosted", "Linux", "X64", "A30")


@pytest.fixture(autouse=True)
def _keep_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)


class Asking:
    """Runs the command on a plan that asks for ``[self-hosted, a30]``."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self._matrix = write(folder, f"{HEAD}matrix: {{include: [{CPU}, {CUDA}]}}")
        self._patch, self._capture = patch, capture
        patch.setattr("time.sleep", lambda _: None)

    def ask(self, repository: Repository, **variables: str) -> tuple[int, str]:
        with serving(repository):
            for name, value in {**repository.variables, **variables}.items():
                self._patch.setenv(name, value)
            status = run(["plan", "--matrix", str(self._matrix), "--runners"])
        told = self._capture.readouterr()
        assert told.out == ""
        assert TOKEN not in told.err
        return status, told.err


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Asking:
    return Asking(tmp_path, monkeypatch, capsys)


def test_labels_that_a_runner_carries_are_served_whatever_their_case(asking: Asking) -> None:
    assert asking.ask(Repository(runners=[runner("gpu-1", *SERVED)])) == (
        0,
        "runners: each of 1 sets of labels is served\n",
    )


@pytest.mark.parametrize(
    ("runners", "told"),
    [
        ([], "nobody has a runner with the labels self-hosted, a30"),
        ([runner("h200", "self-hosted", "h200")], "nobody has a runner with the labels self-hosted, a30"),
        ([runner("a", "self-hosted"), runner("b", "a30")], "nobody has a runner with the labels"),
        ([runner("gpu-1", *SERVED, online=False)], "gpu-1 with the labels self-hosted, a30 is offline"),
    ],
)
def test_labels_that_nobody_carries_are_a_no(asking: Asking, runners: list[dict[str, Any]], told: str) -> None:
    status, words = asking.ask(Repository(runners=runners))
    assert (status, told in words) == (1, True), words


def test_a_runner_may_be_the_organizations_and_on_any_page(asking: Asking) -> None:
    many = [runner(f"cpu-{number}", "self-hosted") for number in range(230)]
    own = Repository(owner="Organization", organization_runners=[*many, runner("gpu-1", *SERVED)])
    assert asking.ask(own)[0] == 0
    assert own.calls.count("GET /orgs/acme/actions/runners") == 3
    assert asking.ask(Repository(owner="Organization", organization_runners=many))[0] == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_api_that_forbids_is_no_answer(asking: Asking, status: int) -> None:
    forbidden = Repository(refuses={"/repos/acme/server/actions": status})
    code, told = asking.ask(forbidden)
    assert (code, "the token may not ask this" in told) == (4, True), told


def test_what_only_the_organization_could_tell_is_unknown_and_said_so(asking: Asking) -> None:
    code, told = asking.ask(Repository(owner="Organization", refuses={"/orgs/": 403}))
    assert (code, "may be unknown" in told) == (0, True), told


def test_a_rate_limit_is_waited_for_or_told(asking: Asking) -> None:
    served = [runner("gpu-1", *SERVED)]
    assert asking.ask(Repository(runners=served, limited=2, wait=30))[0] == 0
    code, told = asking.ask(Repository(runners=served, limited=9, wait=3600))
    assert (code, "rate limit" in told) == (4, True), told


def test_without_a_token_nobody_is_asked_and_that_is_said(asking: Asking) -> None:
    repository = Repository()
    assert asking.ask(repository, RUNNERS_TOKEN="") == (0, "runners: not asked for: no RUNNERS_TOKEN\n")
    assert repository.calls == []


def test_outside_of_a_workflow_is_a_wrong_use(asking: Asking) -> None:
    assert asking.ask(Repository(), GITHUB_REPOSITORY="")[0] == 2
