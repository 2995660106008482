"""What pull requests and the night start: told apart good from bad, and published never."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.workflow_runs.situations import NIGHTS, PULL_REQUESTS
from tests.workflow_runs.test_release import names

if TYPE_CHECKING:
    from tests.workflow_runs.execute import Outcome, Shared

pytestmark = pytest.mark.network  # the wheels that one job of another situation installs
JUDGEMENT = "Both must have succeeded"


@pytest.mark.parametrize("name", [*PULL_REQUESTS, *NIGHTS])
def test_nothing_is_published(name: str, outcomes: dict[str, Outcome], shared: Shared) -> None:
    assert names(outcomes[name].dist) == names(shared.old)
    assert not outcomes[name].ran.ran("publish")


@pytest.mark.parametrize(("name", "passes"), [(name, name == "a good pull request") for name in PULL_REQUESTS])
def test_a_pull_request_is_checked(name: str, passes: bool, outcomes: dict[str, Outcome]) -> None:
    """The good one's lane asks for a runner of its own; pull requests get none but GitHub's."""
    ran = outcomes[name].ran
    assert ran.ran("checked")
    assert ran.passed("checked", JUDGEMENT) == passes
    assert not list(ran.artifacts.glob("lane-*"))


@pytest.mark.parametrize("name", NIGHTS)
def test_the_night_also_proves_what_is_built_on_demand(name: str, outcomes: dict[str, Outcome]) -> None:
    ran = outcomes[name].ran
    assert [words for words in NIGHTS[name].says if words not in ran.summary("gate")] == []
    assert ran.ran("prove")
