"""The workflow that releases cubingate has every property of the others; what would publish something else is told."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pipeline.workflow.safety import violations
from tests.workflow.matrices import KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKFLOW = Path(__file__).resolve().parents[2] / ".github" / "workflows" / "package.yml"
TEXT = WORKFLOW.read_text(encoding="utf-8")
SUMS = "          SUMS: ${{ needs.build.outputs.sums }}\n"
PUBLISH = "pypa/gh-action-pypi-publish@ed0c53931b1dc9bd32cbe73a98c7f6766f8a527e"


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(TEXT)["jobs"]
    return found


def test_it_has_every_property() -> None:
    assert violations(TEXT, KNOWN) == ()


@pytest.mark.parametrize(
    ("old", "new", "property_"),
    [
        (SUMS, "          SUMS: ${{ inputs.sums }}\n", "artifacts-are-sealed"),
        ("sha256sum --check --strict", "sha256sum", "artifacts-are-sealed"),
        (PUBLISH, "pypa/gh-action-pypi-publish@release/v1", "actions-are-pinned"),
        ("    environment: pypi\n", "", "writing-is-guarded"),
        ("permissions: {}\n", "permissions: write-all\n", "permissions-are-empty"),
        ('--tag "$TAG"', "--tag ${{ github.ref_name }}", "scripts-are-constant"),
        ("persist-credentials: false", "persist-credentials: true", "credentials-are-dropped"),
        ("    timeout-minutes: 20\n", "", "time-is-bounded"),
        ("  workflow_dispatch:\n", "  pull_request_target:\n", "strangers-stay-outside"),
    ],
)
def test_what_would_publish_something_else_is_told(old: str, new: str, property_: str) -> None:
    assert old in TEXT
    assert property_ in {found.property for found in violations(TEXT.replace(old, new), KNOWN)}


def test_it_is_built_once_and_published_by_whoever_may_do_nothing_else(jobs: dict[str, Any]) -> None:
    building = [name for name, job in jobs.items() if any("-m build" in step.get("run", "") for step in job["steps"])]
    assert building == ["build"]
    publish = jobs["publish"]
    assert publish["needs"] == ["build", "check"]
    assert publish["permissions"] == {"id-token": "write"}
    assert [step.get("uses", "").partition("@")[0] for step in publish["steps"]] == [
        "actions/download-artifact",
        "",
        "pypa/gh-action-pypi-publish",
    ]
    assert publish["steps"][-1]["with"]["attestations"] is True
    others = [job for name, job in jobs.items() if name != "publish"]
    assert all(job["permissions"] == {"contents": "read"} and "environment" not in job for job in others)


def comparing_scripts(jobs: dict[str, Any]) -> Iterator[str]:
    for job in jobs.values():
        yield from (step["run"] for step in job["steps"] if "needs.build" in str(step.get("env")))


def test_digests_are_held_against_what_came(jobs: dict[str, Any], tmp_path: Path) -> None:
    """The scripts themselves, run: on what was built they pass, on anything else they end the job."""
    dist = tmp_path / "dist"
    dist.mkdir()
    (dist / "cubingate-1-py3-none-any.whl").write_bytes(b"wheel")
    (dist / "cubingate-1.tar.gz").write_bytes(b"sdist")
    sums = subprocess.run("sha256sum -- *", shell=True, cwd=dist, check=True, capture_output=True, text=True)  # noqa: S602
    scripts = list(comparing_scripts(jobs))
    assert len(scripts) == 2

    def status(script: str, sums: str) -> int:
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        environment = {"SUMS": sums, "PATH": "/usr/bin:/bin"}
        return subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True).returncode

    for script in scripts:
        assert status(script, sums.stdout.rstrip("\n")) == 0
        assert status(script, "") != 0
        assert status(script, sums.stdout.splitlines()[0]) != 0, "one more than was built"
        assert status(script, sums.stdout.replace("0", "1").rstrip("\n")) != 0
        (dist / "cubingate-1.tar.gz").write_bytes(b"sdisT")
        assert status(script, sums.stdout.rstrip("\n")) != 0
        (dist / "cubingate-1.tar.gz").write_bytes(b"sdist")
