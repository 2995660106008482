"""The few calls of GitHub's REST API about runners and about the jobs of a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pipeline.errors import InfrastructureError
from pipeline.publishers.github_api import Github

if TYPE_CHECKING:
    from collections.abc import Iterator

    import requests


class JobState(StrEnum):
    """Where a job of a run stands, as far as waiting for it goes."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"


_STATES = {
    "queued": JobState.QUEUED,
    "requested": JobState.QUEUED,
    "pending": JobState.QUEUED,
    "waiting": JobState.QUEUED,
    "in_progress": JobState.RUNNING,
    "completed": JobState.ENDED,
}


@dataclass(frozen=True, slots=True)
class Runner:
    """A self-hosted runner: its labels, and whether it is there now."""

    name: str
    online: bool
    labels: frozenset[str]


@dataclass(frozen=True, slots=True)
class RunJob:
    """A job of a workflow run: it asks for a runner with all ``labels``, and waits from ``since`` on.

    ``succeeded`` is whether it ended, and well.
    """

    name: str
    state: JobState
    labels: tuple[str, ...]
    since: datetime
    succeeded: bool


class GithubActions(Github):
    """One repository's runners and runs; raises as ``Github`` does."""

    def runners(self) -> tuple[Runner, ...]:
        """The self-hosted runners of the repository itself; needs the right to administer it."""
        return tuple(map(_runner, self._rows(f"{self._api}/actions/runners", "runners")))

    def organization(self) -> str:
        """The organization whose repository this is; empty where it is a person's."""
        owner = self._repository().get("owner")
        if not isinstance(owner, dict) or not {"type", "login"} <= owner.keys():
            raise InfrastructureError("GitHub answers something other than a repository")
        return str(owner["login"]) if owner["type"] == "Organization" else ""

    def runners_of(self, organization: str) -> tuple[Runner, ...]:
        """The self-hosted runners of an organization; needs the right to administer those."""
        root = self._api.partition("/repos/")[0]
        return tuple(map(_runner, self._rows(f"{root}/orgs/{organization}/actions/runners", "runners")))

    def jobs(self, run: str) -> tuple[RunJob, ...]:
        """The jobs of the latest attempt of a run; those of a matrix appear when the matrix is known."""
        return tuple(map(_job, self._rows(f"{self._api}/actions/runs/{run}/jobs", "jobs")))

    def all_jobs(self, run: str) -> tuple[RunJob, ...]:
        """The jobs of all attempts of a run."""
        return tuple(map(_job, self._rows(f"{self._api}/actions/runs/{run}/jobs", "jobs", filter="all")))

    def cancel(self, run: str) -> None:
        """Cancel a run; its jobs that always run still do."""
        self._answer("POST", f"{self._api}/actions/runs/{run}/cancel")

    def _rows(self, address: str, name: str, **query: str) -> Iterator[Any]:
        """All pages of a list that GitHub wraps in an object with its ``total_count``."""
        page, seen, total = 0, 0, 1
        while seen < total:
            page += 1
            answer = self._repeated("GET", f"{address}?{urlencode({**query, 'per_page': 100, 'page': page})}")
            rows, total = _listed(answer, name)
            yield from rows
            seen = seen + len(rows) if rows else total


def _listed(answer: requests.Response, name: str) -> tuple[list[Any], int]:
    try:
        content = answer.json()
        rows, total = content[name], content["total_count"]
    except (ValueError, KeyError, TypeError, RecursionError):
        rows, total = None, None
    if not isinstance(rows, list) or not isinstance(total, int):
        raise InfrastructureError(f"GitHub answers something other than a list of {name}")
    return rows, total


def _runner(row: Any) -> Runner:
    try:
        labels = frozenset(str(label["name"]).lower() for label in row["labels"])
        return Runner(str(row["name"]), row["status"] == "online", labels)
    except (KeyError, TypeError):
        raise InfrastructureError("GitHub answers something other than a runner") from None


def _job(row: Any) -> RunJob:
    try:
        since = datetime.fromisoformat(row["created_at"])
        succeeded = row.get("conclusion") == "success"  # none as long as it has not ended
        return RunJob(str(row["name"]), _STATES[row["status"]], tuple(map(str, row["labels"])), since, succeeded)
    except (KeyError, TypeError, ValueError):
        raise InfrastructureError("GitHub answers something other than a job of a run") from None
