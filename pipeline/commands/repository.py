"""The repository and the run of the workflow that calls this tool, as GitHub's variables name them."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipeline.publishers.github_actions import GithubActions
    from pipeline.publishers.github_api import Refusal


@contextmanager
def this_repository(environment: Mapping[str, str], token: str) -> Iterator[GithubActions]:
    """Its API, asked with ``token``. ``UsageError`` outside of a workflow, ``InfrastructureError`` for a no."""
    from pipeline.publishers.github_actions import GithubActions
    from pipeline.publishers.github_api import API, Refusal

    repository = environment.get("GITHUB_REPOSITORY")
    if not repository:
        raise UsageError("no repository is named", remedy="set GITHUB_REPOSITORY, as every step of a workflow has it")
    github = GithubActions(environment.get("GITHUB_API_URL") or API, repository, token, sleep=time.sleep)
    try:
        yield github
    except Refusal as refusal:
        raise _forbidden(refusal) from refusal
    finally:
        github.close()


def _forbidden(refusal: Refusal) -> InfrastructureError:
    """GitHub answers 404 where a token may not know whether something is there."""
    if refusal.status in {401, 403, 404}:
        return InfrastructureError(f"the token may not ask this: {refusal}", remedy="docs/workflow.md says which may")
    return InfrastructureError(str(refusal))
