"""The files of a kind of project, as text: ``templates/init/`` filled with what its own files told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pipeline.scaffold.project import UNKNOWN_VERSION, Kind
from pipeline.workflow.templating import pinned, yaml_templates

if TYPE_CHECKING:
    from collections.abc import Mapping
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
    environment = yaml_templates(templates / "init")
    environment.filters["text"] = json.dumps
    values = {
        "project": project,
        "origin": origin,
        "unknown_version": UNKNOWN_VERSION,
        "wheel": project.name.replace("-", "_").replace(".", "_").lower(),
        "uses": pinned(actions),
        "edit": EDIT,
    }
    workflow = _WORKFLOWS[project.kind]
    files = {**_FILES[project.kind], f".github/workflows/{workflow}": f"{project.kind}/{workflow}"}
    return {
        place.format(name=project.name): environment.get_template(template).render(values)
        for place, template in files.items()
    }
