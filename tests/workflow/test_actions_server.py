"""The stand-in answers in the shape that GitHub's published OpenAPI description gives (githubkit-schemas)."""

from __future__ import annotations

from typing import Any

import pytest
from githubkit_schemas.latest import models

from tests.workflow.actions_server import RUN, Repository, job, runner

HERE = "/repos/acme/server"


def test_runners_and_jobs_have_the_published_shape() -> None:
    rows = [runner("a", "self-hosted", "Linux", "a30"), runner("b", "self-hosted", online=False)]
    repository = Repository(runners=rows, organization_runners=rows)
    repository.jobs = [job("one", status) for status in ("queued", "in_progress", "completed", "waiting", "pending")]
    status, answer = repository.answer("GET", f"{HERE}/actions/runners", {})
    assert status == 200
    models.ReposOwnerRepoActionsRunnersGetResponse200.model_validate(answer)
    models.OrgsOrgActionsRunnersGetResponse200.model_validate(
        repository.answer("GET", "/orgs/acme/actions/runners", {})[1]
    )
    answer = repository.answer("GET", f"{HERE}/actions/runs/{RUN}/jobs", {})[1]
    models.ReposOwnerRepoActionsRunsRunIdJobsGetResponse200.model_validate(answer)


def test_the_fields_that_are_read_are_required_there() -> None:
    """What ``github_actions`` reads without a default is always sent."""
    wanted: dict[Any, set[str]] = {
        models.Runner: {"name", "status", "labels"},
        models.RunnerLabel: {"name"},
        models.Job: {"name", "status", "labels", "created_at"},
        models.SimpleUser: {"login", "type"},
        models.FullRepository: {"owner"},
    }
    for model, names in wanted.items():
        assert names <= {name for name, field in model.model_fields.items() if field.is_required()}


def test_a_row_without_a_required_field_is_refused_by_the_models() -> None:
    row = job("one", "queued")
    del row["labels"]
    with pytest.raises(ValueError, match="labels"):
        models.Job.model_validate(row)
