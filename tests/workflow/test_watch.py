"""``workflow --watch``: GPU runs are waited for but not for ever, and a run that nobody will finish is ended."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.cli import run
from pipeline.errors import InfrastructureError
from pipeline.publishers.github_actions import GithubActions, RunJob
from pipeline.publishers.github_api import Refusal
from pipeline.stages.watch import Watch, watch
from pipeline.workflow.outputs import proof_job
from tests.workflow.actions_server import RUN, TOKEN, Repository, job, serving

if TYPE_CHECKING:
    from collections.abc import Callable

A30, H200 = "prove on sm80-535.288.01", "prove on sm90-580.65.06"
OTHER = [
    job("plan", "completed"),
    job("build one", "completed"),
    job("gate", "queued", "ubuntu-24.04"),
    job("watch", "in_progress"),
]
START = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE, LONGEST = timedelta(minutes=30), timedelta(hours=5)


class Time:
    """A clock that goes on while somebody sleeps; ``happens`` at each minute."""

    def __init__(self, happens: Callable[[int], None]) -> None:
        self.now, self._happens = START, happens

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self._happens(int((self.now - START).total_seconds() // 60))


def watched(
    repository: Repository,
    happens: Callable[[int], None] = lambda _: None,
    names: frozenset[str] = frozenset({A30, H200}),
) -> tuple[bool, list[RunJob], timedelta]:
    """Whether all ended, whom it told of, and how long it took."""
    told: list[RunJob] = []
    time = Time(happens)
    with serving(repository):
        github = GithubActions(repository.variables["GITHUB_API_URL"], repository.name, TOKEN, sleep=time.sleep)
        settings = Watch(RUN, names, PATIENCE, LONGEST, pause=60)
        try:
            ended = watch(github, settings, clock=lambda: time.now, sleep=time.sleep, tell=told.append)
        finally:
            github.close()
    return ended, told, time.now - START


def jobs(a30: str, h200: str) -> list[dict[str, Any]]:
    return [*map(dict, OTHER), job(A30, a30, "self-hosted", "a30"), job(H200, h200, "self-hosted", "h200")]


def test_it_ends_when_all_gpu_runs_ended() -> None:
    repository = Repository(jobs=jobs("in_progress", "queued"))

    def happens(minute: int) -> None:
        repository.jobs = jobs("completed" if minute > 20 else "in_progress", "completed" if minute > 45 else "queued")

    assert watched(repository, happens) == (True, [], timedelta(minutes=46))
    assert repository.cancelled == 0


def test_a_run_that_nobody_serves_is_told_and_ended() -> None:
    repository = Repository(jobs=jobs("completed", "queued"))
    ended, told, took = watched(repository)
    assert (ended, [row.name for row in told], told[0].labels) == (False, [H200], ("self-hosted", "h200"))
    assert timedelta(minutes=30) < took <= timedelta(minutes=32)
    assert repository.cancelled == 1


def test_one_that_waits_behind_another_on_the_same_machine_is_not_in_vain() -> None:
    repository = Repository(jobs=jobs("in_progress", "queued"))

    def happens(minute: int) -> None:
        if minute >= 100:
            repository.jobs = jobs("completed", "completed" if minute >= 125 else "queued")

    assert watched(repository, happens)[0]
    assert repository.cancelled == 0


def test_the_wait_is_bounded_whatever_runs() -> None:
    repository = Repository(jobs=jobs("in_progress", "queued"))
    ended, told, took = watched(repository)
    assert (ended, len(told), repository.cancelled) == (False, 1, 1)
    assert took > LONGEST


def test_jobs_that_never_appear_are_in_vain_too() -> None:
    repository = Repository(jobs=list(map(dict, OTHER)))
    assert watched(repository)[0] is False
    assert repository.cancelled == 1


def test_a_run_that_somebody_cancelled_is_over() -> None:
    repository = Repository(jobs=jobs("queued", "queued"))

    def happens(minute: int) -> None:
        if minute == 5:
            repository.answer("POST", f"/repos/acme/server/actions/runs/{RUN}/cancel", {})

    assert watched(repository, happens)[0]


def test_a_run_that_ended_while_it_was_to_be_cancelled_is_no_error() -> None:
    repository = Repository(jobs=jobs("queued", "queued"), refuses={"/cancel": 409})
    assert watched(repository)[0] is False


def test_a_caller_has_its_name_before_the_jobs() -> None:
    repository = Repository(jobs=[job(f"release / {A30}", "completed")])
    assert watched(repository, names=frozenset({A30}))[0]


@pytest.mark.parametrize("listed", [[A30, A30], [f"other / {A30}", f"release / {A30}"]])
def test_a_job_that_is_listed_twice_is_not_another_that_ended(listed: list[str]) -> None:
    """Pages of a list that grows repeat rows; and a workflow may call two gates."""
    repository = Repository(jobs=[job(name, "completed") for name in listed])

    def happens(minute: int) -> None:
        if minute == 5:
            repository.jobs.append(job(H200, "in_progress"))
        if minute == 50:
            repository.jobs[-1] = job(H200, "completed")

    assert watched(repository, happens) == (True, [], timedelta(minutes=50))


def test_what_is_not_run_again_need_not_be_listed_again() -> None:
    """After "Re-run failed jobs" GitHub has listed only those: https://github.com/r-universe-org/help/issues/607."""
    repository = Repository(jobs=[job(H200, "in_progress")], earlier=[job(A30, "completed"), job(H200, "completed")])

    def happens(minute: int) -> None:
        if minute == 20:
            repository.jobs = [job(H200, "completed")]

    ended, told, took = watched(repository, happens)
    assert (ended, told, repository.cancelled) == (True, [], 0)
    assert took < timedelta(minutes=52)


def test_what_failed_before_has_to_be_run_again() -> None:
    failed = job(A30, "completed") | {"conclusion": "failure"}
    repository = Repository(jobs=[*map(dict, OTHER), job(H200, "completed")], earlier=[failed])
    assert watched(repository)[0] is False
    assert repository.cancelled == 1


def test_what_succeeded_before_and_is_queued_again_is_waited_for() -> None:
    repository = Repository(jobs=jobs("queued", "completed"), earlier=jobs("completed", "completed"))
    ended, told, _ = watched(repository)
    assert (ended, [row.name for row in told]) == (False, [A30])


def test_an_api_that_forbids_ends_the_watch() -> None:
    with pytest.raises(Refusal, match="403"):
        watched(Repository(jobs=jobs("queued", "queued"), refuses={"/jobs": 403}))


def test_what_passes_by_itself_is_waited_for_but_not_for_ever() -> None:
    repository = Repository(jobs=jobs("in_progress", "in_progress"), limited=12, wait=60)

    def happens(_: int) -> None:
        if not repository.limited:
            repository.jobs = jobs("completed", "completed")

    assert watched(repository, happens)[0]
    with pytest.raises(InfrastructureError, match="rate limit"):
        watched(Repository(jobs=jobs("in_progress", "queued"), limited=10_000, wait=60))


def test_the_command_watches_what_the_plan_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("time.sleep", lambda _: None)
    runs = json.dumps({"include": [{"id": "sm80-535.288.01"}, {"id": "sm90-580.65.06"}]})
    repository = Repository(jobs=jobs("completed", "completed"))
    with serving(repository):
        for name, value in {**repository.variables, "GPU_RUNS": runs}.items():
            monkeypatch.setenv(name, value)
        assert run(["workflow", "--watch", "30"]) == 0
        repository.jobs = jobs("completed", "queued")
        assert run(["workflow", "--watch", "0.001"]) == 1
        assert capsys.readouterr().out.startswith("::error title=Nobody serves these labels::prove on sm90-580.65.06")
        repository.refuses = {"/jobs": 403}
        assert run(["workflow", "--watch", "30"]) == 4
        for wrong in ("", "[]", '{"include": []}', '{"include": [{}]}'):
            monkeypatch.setenv("GPU_RUNS", wrong)
            assert run(["workflow", "--watch", "30"]) in {2, 3}
    assert proof_job("sm80-535.288.01") == A30
    assert TOKEN not in capsys.readouterr().err
