"""``cubingate init``: write a matrix file, a Dockerfile and a workflow into somebody's repository, over nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.commands.options import emit
from pipeline.errors import ExitStatus

if TYPE_CHECKING:
    import argparse

    from pipeline.scaffold.project import Project

_KINDS = ("cpp", "wheel", "audit")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", metavar="DIR", type=Path, nargs="?", default=Path(), help="top of the repository (default here)"
    )
    parser.add_argument("--kind", choices=_KINDS, help="what it is (default: what its files say)")
    parser.add_argument(
        "--cubingate",
        metavar="OWNER/NAME@COMMIT",
        help="the cubingate that the workflow uses (default: what this one was installed from, if that was a commit)",
    )


def execute(arguments: argparse.Namespace) -> ExitStatus:
    """Look, render, write all or nothing, and say what is left to do."""
    from pipeline.commands.surroundings import this_cubingate
    from pipeline.resources import find_resources
    from pipeline.scaffold.project import Kind, look_at
    from pipeline.scaffold.render import render
    from pipeline.scaffold.write import write_all
    from pipeline.workflow.actions import load_actions

    origin = this_cubingate(arguments.cubingate)
    project = look_at(arguments.folder, Kind(arguments.kind) if arguments.kind else None)
    files = render(project, origin, load_actions(), find_resources().templates)
    written = write_all(arguments.folder, files)
    emit(arguments, _told(project, [(name, name in written) for name in files]))
    return ExitStatus.PASS


def _told(project: Project, files: list[tuple[str, bool]]) -> str:
    lines = [f"seen: {', '.join(project.seen)}; name {project.name}, version {project.version}"]
    lines += [f"{'wrote' if new else 'there'}  {name}" for name, new in files]
    return "\n".join(
        [
            *lines,
            "next: `cubingate doctor` lists the lines to edit; then `cubingate plan`, and commit all of them",
        ]
    )
