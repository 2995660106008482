"""The files of a kind of project, as text: ``templates/init/`` filled with what its own files told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.errors import UsageError
from pipeline.scaffold.project import UNKNOWN_VERSION, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pipeline.scaffold.origin import Origin
    from pipeline.scaffold.project import Project
    from pipeline.workflow.actions import Action

MATRIX = "matrix.yaml"
EDIT = "EDIT:"
"""Begins the comment on what only the project's people can know; ``missing`` looks for it."""

_FILES = {
    Kind.CPP: {MATRIX: "cpp/matrix.yaml", "dockerfiles/{name}.Dockerfile": "cpp/Dockerfile"},
    Kind.WHEEL: {MATRIX: "wheel/matrix.yaml"},
    Kind.AUDIT: {MATRIX: "audit/matrix.yaml"},
}
_WORKFLOWS = {Kind.CPP: "release.yml", Kind.WHEEL: "audit.yml", Kind.AUDIT: "audit.yml"}


def render(project: Project, origin: Origin, actions: Mapping[str, Action], templates: Path) -> dict[str, str]:
    """Path in the repository → text. ``UsageError`` for an action that the table does not have."""
    environment = Environment(
        loader=FileSystemLoader(templates / "init"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 -- YAML is not HTML; names are tamed, and all of them pass through `text`
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
    environment.filters["text"] = json.dumps
    values = {
        "project": project,
        "origin": origin,
        "unknown_version": UNKNOWN_VERSION,
        "wheel": project.name.replace("-", "_").replace(".", "_").lower(),
        "uses": _pinned(actions),
        "edit": EDIT,
    }
    workflow = _WORKFLOWS[project.kind]
    files = {**_FILES[project.kind], f".github/workflows/{workflow}": f"{project.kind}/{workflow}"}
    return {
        place.format(name=project.name): environment.get_template(template).render(values)
        for place, template in files.items()
    }


def _pinned(actions: Mapping[str, Action]) -> Callable[[str], str]:
    def uses(name: str) -> str:
        if name not in actions:
            raise UsageError(f"no public workflow is known that pins {name}", remedy="add a row to actions.csv")
        return actions[name].uses

    return uses
