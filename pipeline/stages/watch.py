"""Waits for the jobs that need somebody's GPU, and ends a run that waits for a runner which nobody has.

A label that no runner carries leaves its job queued for a day, without a word. The gate, which always runs, can say
no only once the run was cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.publishers.github_actions import JobState
from pipeline.publishers.github_api import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta

    from pipeline.publishers.github_actions import GithubActions, RunJob


class Waiting(Enum):
    """What the jobs that are watched do at one moment."""

    ENDED = "all of them ended"
    ON = "one runs, or ran not long ago, or none has waited for long"
    IN_VAIN = "one has waited for too long since any ran"


@dataclass(frozen=True, slots=True)
class Watch:
    """How to watch run ``run``: until the jobs called ``names`` ended.

    ``patience`` is how long one may be queued after any of them ran, and how long GitHub may give no answer;
    ``longest`` is how long all of it may take, ``pause`` the seconds between two looks.
    """

    run: str
    names: frozenset[str]
    patience: timedelta
    longest: timedelta
    pause: float = 15.0


def watch(
    github: GithubActions,
    watched: Watch,
    *,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None],
    tell: Callable[[RunJob], None],
) -> bool:
    """Whether all watched jobs ended. If not, ``tell`` was called for each that waits, and the run was cancelled.

    Raises what the API's calls raise; what may pass by itself is raised only after ``patience``.
    """
    since = answered = busy = clock()
    while True:
        try:
            jobs = [job for job in github.jobs(watched.run) if _own(job.name) in watched.names]
            answered = clock()
        except InfrastructureError:
            if clock() - answered > watched.patience:
                raise
        else:
            busy = answered if any(job.state is JobState.RUNNING for job in jobs) else busy
            match standing(jobs, watched, since=since, busy=busy, now=answered):
                case Waiting.ENDED:
                    return True
                case Waiting.IN_VAIN:
                    return _give_up(github, watched, jobs, tell)
                case Waiting.ON:
                    pass
        sleep(watched.pause)


def standing(jobs: Sequence[RunJob], watched: Watch, *, since: datetime, busy: datetime, now: datetime) -> Waiting:
    """What ``jobs`` do at ``now``, watched from ``since`` on; until ``busy`` one of them ran, perhaps on the same GPU.

    GitHub lists the jobs of a matrix when it starts them; that they are not there yet is waiting, too.
    """
    states = {job.state for job in jobs}
    if {_own(job.name) for job in jobs} >= watched.names and states <= {JobState.ENDED}:
        return Waiting.ENDED
    if now - since > watched.longest:
        return Waiting.IN_VAIN
    queued = min([job.since for job in jobs if job.state is JobState.QUEUED], default=since)
    return Waiting.IN_VAIN if now - max(queued, since, busy) > watched.patience else Waiting.ON


def _own(name: str) -> str:
    """A job's name alone: where its workflow is called by another, the caller's stands before."""
    return name.rpartition(" / ")[2]


def _give_up(github: GithubActions, watched: Watch, jobs: Sequence[RunJob], tell: Callable[[RunJob], None]) -> bool:
    """Cancel the run, and tell of each job that waits; unless there is none to wait for."""
    if _ended_before(github, watched, jobs):
        return True
    for job in jobs:
        if job.state is JobState.QUEUED:
            tell(job)
    _cancel(github, watched.run)
    return False


def _ended_before(github: GithubActions, watched: Watch, jobs: Sequence[RunJob]) -> bool:
    """Whether nothing is left to wait for but jobs that are not listed because they succeeded in an earlier attempt.

    When failed jobs are run again, GitHub may list those alone: https://github.com/r-universe-org/help/issues/607.
    """
    if any(job.state is not JobState.ENDED for job in jobs):
        return False
    missing = watched.names - {_own(job.name) for job in jobs}
    return missing <= {_own(job.name) for job in github.all_jobs(watched.run) if job.succeeded}


def _cancel(github: GithubActions, run: str) -> None:
    try:
        github.cancel(run)
    except Refusal as refusal:
        if refusal.status != 409:  # it ended meanwhile, or somebody else cancelled it
            raise
