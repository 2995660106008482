"""Whatever a file below .github holds, it is read or refused; and which runners are GitHub's own is never guessed."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import UsageError
from pipeline.workflow.document import Job, read_document
from pipeline.workflow.safety import violations
from tests.workflow.matrices import KNOWN

KEYS = (
    "on",
    "jobs",
    "runs",
    "steps",
    "permissions",
    "with",
    "env",
    "needs",
    "if",
    "uses",
    "run",
    "runs-on",
    "environment",
)
WORDS = st.sampled_from(
    ["", "x", "actions/checkout@v6", "${{ secrets.X }}", "cubingate gate", "cubingate publish", "read-all"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5))
@settings(max_examples=200, deadline=None)
def test_any_shape_is_read_or_refused(content: dict[str, Any]) -> None:
    text = yaml.safe_dump(content)
    try:
        found = violations(text, KNOWN)
    except UsageError:
        return
    jobs = content.get("jobs")
    if isinstance(jobs, dict) and any(isinstance(job, dict) for job in jobs.values()):
        assert found, "no job without permissions, a timeout and a concurrency group is well"


@pytest.mark.parametrize(
    ("runs_on", "hosted"),
    [
        ("ubuntu-24.04", True),
        ("ubuntu-a30", False),
        ("self-hosted", False),
        (["ubuntu-24.04"], False),
        ({"group": "gpus"}, False),
        (None, False),
        ("${{ matrix.runner }}", False),
        ("${{ matrix.arm && 'ubuntu-24.04-arm' || 'ubuntu-24.04' }}", True),
        ("${{ matrix.platform == 'aarch64' && 'ubuntu-24.04-arm' || 'ubuntu-24.04' }}", True),
        ("${{ matrix.arm && 'a30' || 'ubuntu-24.04' }}", False),
        ("${{ matrix.arm && 'ubuntu-24.04-arm' || matrix.runner }}", False),
        ("${{ matrix.runner || 'ubuntu-24.04' }}", False),
        ("${{ 'ubuntu-24.04' }}-${{ matrix.suffix }}", False),
        ("ubuntu-${{ matrix.version }}", False),
        ("${{ fromJSON('[1]')[0] && 'ubuntu-24.04' }}", True),
    ],
)
def test_which_runner_is_githubs_own(runs_on: Any, hosted: bool) -> None:
    assert Job("job", {"runs-on": runs_on}).hosted(KNOWN.hosted) is hosted


def test_the_key_on_is_read_whatever_yaml_makes_of_it() -> None:
    for text in ("on: push", "'on': push", "on: [push]", "on: {push: }", "true: push"):
        assert read_document(f"{text}\njobs: {{}}").triggers == ("push",)


@pytest.mark.parametrize("value", ["2026-02-31", "!!int x", "!!binary x", "*a", "[" * 3000])
def test_values_that_no_yaml_has_are_a_wrong_use(value: str) -> None:
    with pytest.raises(UsageError, match="not YAML"):
        read_document(f"jobs: {{}}\nx: {value}\n")
