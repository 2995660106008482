"""What others' linters say of rendered workflows, at their strictest: nothing. Each of them can say no."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.workflow.render import Kind
from tests.workflow.matrices import ACTIONS, MATRICES, rendered

LINTERS = {
    "zizmor": ["zizmor", "--offline", "--no-progress", "--persona=auditor"],
    "actionlint": ["actionlint", "-shellcheck=", "-pyflakes="],
    "schema": ["check-jsonschema", "--builtin-schema", "vendor.github-workflows"],
}
CHECKOUT = ACTIONS["actions/checkout"].uses
TWINS = {
    "zizmor": ('--lane "$LANE"', "--lane ${{ matrix.id }}"),
    "actionlint": ("needs.build.outputs", "needs.nobody.outputs"),
    "schema": ("    timeout-minutes: 10\n", "    timeout-minutes: soon\n"),
}


def lint(name: str, *files: Path) -> subprocess.CompletedProcess[str]:
    command = LINTERS[name]
    beside = Path(sys.executable).with_name(command[0])
    program = str(beside) if beside.is_file() else shutil.which(command[0])
    assert program, f"{command[0]} is not installed"
    return subprocess.run(
        [program, *command[1:], *map(str, files)], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Every kind of workflow of every matrix."""
    folder = tmp_path_factory.mktemp("repository")
    workflows = folder / ".github" / "workflows"
    workflows.mkdir(parents=True)
    found = []
    for name, matrix in MATRICES.items():
        for kind in Kind:
            file = workflows / f"{name}-{kind}.yml"
            file.write_text(rendered(folder, kind, matrix), encoding="utf-8")
            found.append(file)
    return found


@pytest.mark.parametrize("name", LINTERS)
def test_a_linter_has_nothing_to_say(files: list[Path], name: str) -> None:
    done = lint(name, *files)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", LINTERS)
def test_a_linter_can_say_no(files: list[Path], tmp_path: Path, name: str) -> None:
    old, new = TWINS[name]
    healthy = next(file for file in files if file.name == "gpu-to-a-release-release.yml").read_text(encoding="utf-8")
    assert old in healthy
    twin = tmp_path / ".github" / "workflows" / "twin.yml"
    twin.parent.mkdir(parents=True)
    twin.write_text(healthy.replace(old, new, 1), encoding="utf-8")
    assert lint(name, twin).returncode != 0
