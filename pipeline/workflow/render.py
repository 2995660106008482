"""A plan as the text of a workflow: jinja2 templates of ``templates/workflow/``, with delimiters of their own."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pipeline.errors import NothingExamined, UsageError
from pipeline.matrix.gpu_runs import asked_targets, demand_runners, run_id
from pipeline.workflow.outputs import lane_artifact, output_names, proof_artifact
from pipeline.workflow.templating import pinned, yaml_templates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from jinja2 import Environment

    from pipeline.matrix.gpu_runs import GpuRun
    from pipeline.model.lane import Plan
    from pipeline.workflow.actions import Action

HOSTED, HOSTED_ARM = "ubuntu-24.04", "ubuntu-24.04-arm"
"""The runners of jobs that are not a lane's; pull requests get no others."""


PATIENCE = 30
"""Minutes that a GPU run may be queued while none runs: long enough for a machine that is started on demand."""


_EVERY_DESTINATION = frozenset({"directory", "github", "python-index", "registry"})
_SLOTS = tuple(f"slot_{number}" for number in range(256))
"""Job outputs of a workflow that does not know its lanes yet; GitHub starts at most 256 jobs of a matrix."""

_PATTERNS = (lane_artifact("*"), proof_artifact("*"))
"""What the jobs that judge and publish download."""

_CALLED_INSTALL = (
    "${{ inputs.cubingate || format('git+{0}/{1}@{2}', github.server_url, job.workflow_repository, job.workflow_sha) }}"
)

_FILE_NAME = re.compile(r"[A-Za-z0-9._/][A-Za-z0-9._/-]*", re.ASCII)


class Kind(StrEnum):
    """Which workflow; ``gate`` is the one that other repositories call, for whatever their matrix.yaml says."""

    RELEASE = "release"
    PULL_REQUEST = "pull-request"
    NIGHTLY = "nightly"
    GATE = "gate"


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
    named, for lanes that cannot be told apart, and for text that GitHub would take for an expression;
    ``NothingExamined`` for pull requests of which nothing would be built.
    """
    if kind is not Kind.GATE:
        demand_runners(runs)
    if kind is Kind.PULL_REQUEST and all(lane.on_demand for lane in plan.lanes):
        raise NothingExamined("every lane is built on demand, so that a pull request would build nothing")
    values = {
        "uses": pinned(actions),
        # What is released is fetched and built afresh: a cache is filled by other runs than the release's.
        "cached": kind in {Kind.PULL_REQUEST, Kind.NIGHTLY},
        "hosted": HOSTED,
        "hosted_arm": HOSTED_ARM,
        "patience": PATIENCE,
        "matrix_file": _plain(repository.matrix_file),
        "publishers": plan.publishers,
        **(_of_any_matrix() if kind is Kind.GATE else _of_plan(plan, runs, repository)),
    }
    environment = _environment(templates)
    return environment.get_template(f"{kind}.yml").render(values).rstrip("\n") + "\n"


def _of_any_matrix() -> dict[str, object]:
    """What a workflow says that learns its plan only when it is called."""
    return {
        "called": True,
        "matrix": "${{ inputs.matrix }}",
        "requirement": _CALLED_INSTALL,
        "lane_outputs": _SLOTS,
        "proofs": True,
        "patterns": _PATTERNS,
        "proof_outputs": _SLOTS,
        "directories": ["${{ inputs.published }}"],
        **_publishing(_EVERY_DESTINATION),
    }


def _of_plan(plan: Plan, runs: Sequence[GpuRun], repository: Repository) -> dict[str, object]:
    return {
        "called": False,
        "matrix": text(repository.matrix_file),
        "requirement": text(repository.install),
        "lane_outputs": output_names(lane_artifact(lane.id) for lane in plan.lanes),
        "proofs": bool(runs),
        "patterns": _PATTERNS if runs else _PATTERNS[:1],
        "proof_outputs": _proof_outputs(plan),
        "directories": _directories(plan, repository.matrix_file),
        **_publishing(frozenset(publisher.kind for publisher in plan.publishers)),
    }


def _publishing(kinds: Set[str]) -> dict[str, object]:
    environment = tokens(kinds)
    secrets = {name for _, value in environment for name in re.findall(r"secrets\.(\w+)", value)}
    return {"permissions": permissions(kinds), "tokens": environment, "secrets": sorted(secrets)}


def _proof_outputs(plan: Plan) -> tuple[str, ...]:
    return output_names(dict.fromkeys(proof_artifact(run_id(target)) for target in asked_targets(plan)))


def _directories(plan: Plan, matrix_file: str) -> list[str]:
    """Where directory publishers publish to, from the top of the repository: the plan names them from wherever."""
    here, top = plan.matrix_file.parent, PurePosixPath(matrix_file).parent
    locations = (Path(each.location) for each in plan.publishers if each.kind == "directory")
    return [_plain(str(top / path.relative_to(here) if path.is_relative_to(here) else path)) for path in locations]


def permissions(kinds: Set[str]) -> tuple[Permission, ...]:
    """What the job that publishes may do, by the kinds of what it publishes to."""
    contents = ("write", "makes the release") if "github" in kinds else ("read", "checks out")
    packages = (Permission("packages", "write", "pushes images"),) if "registry" in kinds else ()
    return (
        Permission("contents", *contents),
        *packages,
        Permission("id-token", "write", "proves to others that this workflow asks"),
        Permission("attestations", "write", "attests the provenance of what is published"),
    )


def tokens(kinds: Set[str]) -> tuple[tuple[str, str], ...]:
    """Environment variables of the step that publishes; nothing else ever has a secret."""
    github = (("GITHUB_TOKEN", "${{ github.token }}"),) if kinds & {"github", "registry"} else ()
    index = (
        ("TWINE_USERNAME", "${{ secrets.TWINE_USERNAME || '__token__' }}"),
        ("TWINE_PASSWORD", "${{ secrets.TWINE_PASSWORD }}"),
    )
    registry = (
        ("REGISTRY_USERNAME", "${{ secrets.REGISTRY_USERNAME }}"),
        ("REGISTRY_PASSWORD", "${{ secrets.REGISTRY_PASSWORD }}"),
    )
    return (
        *github,
        *(index if "python-index" in kinds else ()),
        *(registry if "registry" in kinds else ()),
    )


def _environment(templates: Path) -> Environment:
    environment = yaml_templates(templates / "workflow")
    environment.filters["text"] = text
    environment.filters["quoted"] = lambda value: "'" + value.replace("'", "''") + "'"
    return environment


def text(value: str) -> str:
    """A value of matrix.yaml or of the command line as one YAML string; never an expression of GitHub's."""
    if "${{" in value or not value.isprintable():
        raise UsageError(f"{value!r} cannot be part of a workflow", remedy="use letters, digits and . _ / = < > -")
    return json.dumps(value, ensure_ascii=False)


def _plain(value: str) -> str:
    """A file name that needs no quoting anywhere."""
    if not _FILE_NAME.fullmatch(value):
        raise UsageError(f"{value!r} cannot be part of a workflow", remedy="use letters, digits and . _ / -")
    return value
