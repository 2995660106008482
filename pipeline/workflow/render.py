"""A plan as the text of a workflow: jinja2 templates of ``templates/workflow/``, with delimiters of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.errors import UsageError
from pipeline.matrix.gpu_runs import asked_targets, run_id
from pipeline.workflow.outputs import lane_artifact, output_names, proof_artifact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pipeline.matrix.gpu_runs import GpuRun
    from pipeline.model.lane import Plan, Publisher
    from pipeline.workflow.actions import Action

HOSTED, HOSTED_ARM = "ubuntu-24.04", "ubuntu-24.04-arm"
"""The runners of jobs that are not a lane's; pull requests get no others."""


PATIENCE = 30
"""Minutes that a GPU run may be queued while none runs: long enough for a machine that is started on demand."""


class Kind(StrEnum):
    """Which workflow."""

    RELEASE = "release"
    PULL_REQUEST = "pull-request"
    NIGHTLY = "nightly"


@dataclass(frozen=True, slots=True)
class Permission:
    """One permission of the job that publishes, with the reason that stands beside it."""

    name: str
    level: str
    why: str


@dataclass(frozen=True, slots=True)
class Repository:
    """What a workflow must know besides the plan.

    ``matrix_file`` is the path of matrix.yaml in the repository, ``install`` what pip installs as cubingate.
    """

    matrix_file: str
    install: str


def render(
    kind: Kind,
    plan: Plan,
    runs: Sequence[GpuRun],
    repository: Repository,
    *,
    actions: Mapping[str, Action],
    templates: Path,
) -> str:
    """The workflow's text.

    ``plan`` has all lanes, ``runs`` the GPU runs that prove them. ``UsageError`` for a GPU run whose runner nobody
    named, for lanes that cannot be told apart, and for text that GitHub would take for an expression.
    """
    _demand_runners(runs)
    environment = _environment(templates)
    values = {
        "uses": _pinned(actions),
        "install": repository.install,
        "matrix_file": repository.matrix_file,
        # What is released is fetched and built afresh: a cache is filled by other runs than the release's.
        "cached": kind is not Kind.RELEASE,
        "hosted": HOSTED,
        "hosted_arm": HOSTED_ARM,
        "lane_outputs": output_names(lane_artifact(lane.id) for lane in plan.lanes),
        "proofs": bool(runs),
        "patience": PATIENCE,
        "proof_outputs": output_names(proof_artifact(run_id(target)) for target in asked_targets(plan)),
        "patterns": ["lane-*", "prove-*"] if runs else ["lane-*"],
        "publishers": plan.publishers,
        "permissions": permissions(plan.publishers),
        "tokens": tokens(plan.publishers),
        "directories": [each.location for each in plan.publishers if each.kind == "directory"],
    }
    return environment.get_template(f"{kind}.yml").render(values)


def permissions(publishers: Iterable[Publisher]) -> tuple[Permission, ...]:
    """What the job that publishes may do, by what it publishes to."""
    kinds = {publisher.kind for publisher in publishers}
    contents = ("write", "makes the release") if "github" in kinds else ("read", "checks out")
    packages = (Permission("packages", "write", "pushes images"),) if "registry" in kinds else ()
    return (
        Permission("contents", *contents),
        *packages,
        Permission("id-token", "write", "proves to others that this workflow asks"),
        Permission("attestations", "write", "attests the provenance of what is published"),
    )


def tokens(publishers: Iterable[Publisher]) -> tuple[tuple[str, str], ...]:
    """Environment variables of the step that publishes; nothing else ever has a secret."""
    kinds = {publisher.kind for publisher in publishers}
    github = (("GITHUB_TOKEN", "${{ github.token }}"),) if kinds & {"github", "registry"} else ()
    index = (
        ("TWINE_USERNAME", "${{ secrets.TWINE_USERNAME || '__token__' }}"),
        ("TWINE_PASSWORD", "${{ secrets.TWINE_PASSWORD }}"),
    )
    return (*github, *(index if "python-index" in kinds else ()))


def _environment(templates: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates / "workflow"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 -- YAML is not HTML; what comes from matrix.yaml passes through `text`
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        comment_start_string="[#",
        comment_end_string="#]",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["text"] = text
    environment.filters["quoted"] = lambda value: "'" + value.replace("'", "''") + "'"
    return environment


def text(value: str) -> str:
    """A value of matrix.yaml or of the command line as one YAML string; never an expression of GitHub's."""
    if "${{" in value or not value.isprintable():
        raise UsageError(f"{value!r} cannot be part of a workflow", remedy="use letters, digits and . _ / = < > -")
    return json.dumps(value)


def _pinned(actions: Mapping[str, Action]) -> Callable[[str], str]:
    def uses(name: str) -> str:
        if name not in actions:
            raise UsageError(f"no public workflow is known that pins {name}", remedy="add a row to actions.csv")
        return actions[name].uses

    return uses


def _demand_runners(runs: Iterable[GpuRun]) -> None:
    lost = [run.target.label for run in runs if not run.runner]
    if lost:
        raise UsageError(
            f"no runner is named for {', '.join(lost)}, so that nothing could prove it",
            remedy="give the target `runner: [self-hosted, …]`, or say which weaker proof `suffices`",
        )
