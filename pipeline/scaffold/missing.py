"""What a repository lacks before its workflow can say yes: a sound matrix, Dockerfiles, a fresh workflow, edits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.errors import CubingateError, UsageError
from pipeline.model.paths import printable
from pipeline.scaffold.look import Look

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.model.lane import Plan
    from pipeline.policy import Policy

_EDIT = re.compile(r"# EDIT: (.*)")
_RENDERED = re.compile(r"# Rendered by `cubingate workflow`")
_REQUIREMENT = re.compile(r'^ +REQUIREMENT: "([^"\\]*)"$', re.MULTILINE)
_CALL = re.compile(r"uses: \S+/\.github/workflows/gate\.yml@")
_ENVIRONMENT = re.compile(r"^ +environment: *['\"]?([A-Za-z0-9_-]+)['\"]? *$", re.MULTILINE)
_SECRET = re.compile(r"\bsecrets\.([A-Za-z_][A-Za-z0-9_]*)")
_GIVEN = "GITHUB_TOKEN"  # every run has it
_MOST_BYTES = 1 << 20
_MOST_EDITS = 40


def looks(matrix: Path, policy: Policy) -> Iterator[Look]:
    """Everything that can be told of the repository around ``matrix`` from its files."""
    folder, top = matrix.parent.resolve(), top_of(matrix)
    if not matrix.is_file():
        yield Look("matrix", False, f"no {matrix}", "`cubingate init` writes one for a C++ project, a wheel, an image")
        return
    plan = None
    try:
        plan = _sound_plan(matrix, policy)
        yield Look("matrix", True, f"{matrix}, {len(plan.lanes)} lane{'s' * (len(plan.lanes) != 1)}")
    except CubingateError as error:
        first, *more = str(error).splitlines()
        rest = f", and {len(more)} more" if more else ""
        yield Look("matrix", False, f"{first}{rest}", "`cubingate plan` tells all of it")
    if plan is not None:
        yield from _dockerfiles(plan, folder)
    workflows = _workflows(top)
    yield from _used(workflows, plan, policy, in_repository(matrix))
    yield from _edits([folder / matrix.name, *sorted((folder / "dockerfiles").glob("*")), *workflows], top)
    yield from _settings(workflows)


def top_of(matrix: Path) -> Path:
    """The folder in which jobs begin: that of the checkout, or of the matrix file where there is none."""
    here = matrix.parent.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def in_repository(matrix: Path) -> str:
    """The matrix file's path as jobs name it."""
    return (matrix.parent.resolve() / matrix.name).relative_to(top_of(matrix)).as_posix()


def installed_by(text: str) -> str | None:
    """What the jobs of a rendered workflow install; ``None`` where it says nothing of it."""
    found = _REQUIREMENT.search(text)
    return found[1] if found else None


def calls_the_gate(text: str) -> bool:
    """Whether a workflow calls the gate of another repository instead of having been rendered."""
    return _RENDERED.match(text) is None and _CALL.search(text) is not None


def _sound_plan(matrix: Path, policy: Policy) -> Plan:
    from pipeline.matrix.lint import failed, lint
    from pipeline.matrix.load import load_plan

    plan = load_plan(matrix, policy=policy)
    findings = lint(plan, policy)
    if failed(findings):
        raise UsageError("\n".join(f"{finding.path}: {finding.observed}" for finding in findings))
    return plan


def _dockerfiles(plan: Plan, folder: Path) -> Iterator[Look]:
    from pipeline.resources import find_resources

    places = find_resources(beside=folder).dockerfiles
    for name in sorted({lane.recipe.dockerfile for lane in plan.lanes if lane.recipe is not None}):
        found = next((place / name for place in places if (place / name).is_file()), None)
        if found is None:
            yield Look("Dockerfile", False, f"no dockerfiles/{name}", "a recipe of matrix.yaml names it")
        elif found.is_relative_to(folder):
            yield Look("Dockerfile", True, str(found.relative_to(folder)))
        else:
            yield Look("Dockerfile", True, f"{name}, as shipped with cubingate")


def _workflows(folder: Path) -> dict[Path, str]:
    """The workflows that use this tool, with their text."""
    files = sorted((folder / ".github" / "workflows").glob("*.y*ml"))
    texts = {file: _text(file) for file in files if file.is_file()}
    return {file: text for file, text in texts.items() if "cubingate" in text}


def _text(file: Path) -> str:
    """The beginning of a file; a file that cannot be read has nothing to say."""
    try:
        with file.open("rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _used(workflows: dict[Path, str], plan: Plan | None, policy: Policy, matrix: str) -> Iterator[Look]:
    if not workflows:
        yield Look(
            "workflow",
            False,
            "none in .github/workflows uses cubingate",
            "`cubingate workflow --output .github/workflows/release.yml` renders one; `cubingate init` writes one",
        )
    for file, text in workflows.items():
        if plan is not None and _RENDERED.match(text) and not _fresh(file.stem, text, plan, policy, matrix):
            again = f"`cubingate workflow --kind {file.stem} --output .github/workflows/{file.name}` renders it anew"
            yield Look("workflow", False, f"{file.name} is stale: matrix.yaml has changed, or cubingate", again)
        else:
            yield Look("workflow", True, file.name)


def _fresh(kind: str, text: str, plan: Plan, policy: Policy, matrix: str) -> bool:
    """Whether the file is what its matrix and this cubingate give, with what it installs now."""
    from pipeline.matrix.gpu_runs import gpu_runs
    from pipeline.resources import find_resources
    from pipeline.workflow.actions import load_actions
    from pipeline.workflow.render import Kind, Repository, render

    install = installed_by(text)
    if install is None or kind not in list(Kind):
        return False
    repository = Repository(matrix_file=matrix, install=install)
    runs, templates = gpu_runs(plan, policy), find_resources().templates
    return text == render(Kind(kind), plan, runs, repository, actions=load_actions(), templates=templates)


def _edits(files: list[Path], folder: Path) -> Iterator[Look]:
    lines = [
        (f"{file.absolute().relative_to(folder)}:{number}", printable(found[1]))
        for file in files
        for number, line in enumerate(_text(file).splitlines(), 1)
        if (found := _EDIT.search(line))
    ]
    for place, what in lines[:_MOST_EDITS]:
        yield Look("to edit", False, f"{place}: {what}")
    if len(lines) > _MOST_EDITS:
        yield Look("to edit", False, f"and {len(lines) - _MOST_EDITS} lines more")
    if lines:
        yield Look("to edit", False, "take the words EDIT: away with what they ask for")


def _settings(workflows: dict[Path, str]) -> Iterator[Look]:
    """What GitHub keeps in a repository's settings, where no file tells whether it is there."""
    texts = list(workflows.values())
    environments = {name for text in texts for name in _ENVIRONMENT.findall(text)}
    environments |= {"release"} if any(_CALL.search(text) for text in texts) else set()
    for name in sorted(environments):
        advice = "Settings, Environments: give it required reviewers, or nobody is asked before something is published"
        yield Look("environment", False, f"{name}: whether it is there cannot be seen from here", advice)
    for name in sorted({name for text in texts for name in _SECRET.findall(text)} - {_GIVEN}):
        yield Look("secret", False, f"{name}: whether it is there cannot be seen from here", "Settings, Secrets")
