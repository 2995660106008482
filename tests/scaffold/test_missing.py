"""What ``doctor`` says of a repository: each thing that can be missing, and that nothing is said where nothing is."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.policy import load_policy
from pipeline.scaffold.missing import looks
from tests.scaffold.repositories import DOCKERFILE, LLAMA, cubingate, repository

if TYPE_CHECKING:
    from pipeline.scaffold.look import Look

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def _looks(folder: Path) -> list[Look]:
    with contextlib.chdir(folder):
        return list(looks(Path("matrix.yaml"), load_policy()))


def _missing(folder: Path) -> list[str]:
    return [f"{look.name}: {look.seen}" for look in _looks(folder) if not look.present]


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    """A repository as ``init`` leaves it."""
    folder = repository(tmp_path / "llama", CMakeLists__txt=LLAMA)
    assert cubingate(folder, "init", "--cubingate", f"somebody/cubingate@{COMMIT}").returncode == 0
    return folder


def test_a_folder_without_a_matrix_is_told_of_init(tmp_path: Path) -> None:
    (only,) = _looks(tmp_path)
    assert not only.present
    assert "`cubingate init`" in only.advice


def test_what_init_leaves_to_edit_is_listed_until_it_is_done(llama: Path) -> None:
    seen = _missing(llama)
    assert "to edit: matrix.yaml:8: the version of what is released" in seen
    assert "to edit: matrix.yaml:22: the CMake target that is the server" in seen
    for file in (llama / "matrix.yaml", llama / ".github/workflows/release.yml"):
        file.write_text(file.read_text().replace("# EDIT:", "# done:"))
    assert _missing(llama) == ["environment: release: whether it is there cannot be seen from here"]
    assert {look.seen for look in _looks(llama) if look.present} == {
        "matrix.yaml, 2 lanes",
        "dockerfiles/llama.cpp.Dockerfile",
        "release.yml",
    }


def test_a_cubingate_that_nobody_named_is_to_edit(tmp_path: Path) -> None:
    folder = repository(tmp_path, Dockerfile=DOCKERFILE)
    assert cubingate(folder, "init", "--kind", "audit").returncode == 0
    assert any("which cubingate" in line for line in _missing(folder))


def test_a_matrix_with_mistakes(llama: Path) -> None:
    matrix = llama / "matrix.yaml"
    matrix.write_text(matrix.read_text().replace("compression: speed", "compression: fast").replace("glibc:", "glib:"))
    (line,) = [line for line in _missing(llama) if line.startswith("matrix: ")]
    assert "matrix.yaml:" in line
    assert line.endswith(", and 2 more")


def test_a_matrix_that_cannot_succeed(llama: Path) -> None:
    matrix = llama / "matrix.yaml"
    matrix.write_text(matrix.read_text().replace("compression: speed", "compression: size"))
    (line,) = [line for line in _missing(llama) if line.startswith("matrix: ")]
    assert "550.54.14" in line


def test_a_dockerfile_that_a_recipe_names(llama: Path) -> None:
    (llama / "dockerfiles/llama.cpp.Dockerfile").rename(llama / "dockerfiles/mine.Dockerfile")
    matrix = llama / "matrix.yaml"
    matrix.write_text(matrix.read_text().replace("llama.cpp.Dockerfile", "absent.Dockerfile", 1))
    assert "Dockerfile: no dockerfiles/absent.Dockerfile" in _missing(llama)
    assert "llama.cpp.Dockerfile, as shipped with cubingate" in {look.seen for look in _looks(llama) if look.present}


def test_no_workflow_or_one_of_something_else(llama: Path) -> None:
    workflow = llama / ".github/workflows/release.yml"
    workflow.write_text("name: lint\non: push\n")
    assert "workflow: none in .github/workflows uses cubingate" in _missing(llama)
    workflow.unlink()
    assert "workflow: none in .github/workflows uses cubingate" in _missing(llama)


@pytest.mark.parametrize("kind", ["release", "pull-request", "nightly"])
def test_a_rendered_workflow_is_fresh_until_the_matrix_changes(kind: str, llama: Path) -> None:
    workflow = llama / f".github/workflows/{kind}.yml"
    words = ["--kind", kind, "--install", "cubingate>=0.1", "--output", str(workflow)]
    assert cubingate(llama, "workflow", *words).returncode == 0
    assert f"{kind}.yml" in {look.seen for look in _looks(llama) if look.present}
    workflow.write_text(workflow.read_text().replace("timeout-minutes: 10", "timeout-minutes: 11"))
    (stale,) = [look for look in _looks(llama) if look.name == "workflow" and not look.present]
    assert f"{kind}.yml is stale" in stale.seen
    assert f"--kind {kind}" in stale.advice


def test_secrets_and_environments_are_reminders(llama: Path) -> None:
    extra = llama / ".github/workflows/more.yml"
    extra.write_text(
        "# cubingate\n  environment: staging\n  A: ${{ secrets.TWINE_PASSWORD }} ${{ secrets.GITHUB_TOKEN }}\n"
    )
    reminders = [line for line in _missing(llama) if line.startswith(("environment", "secret"))]
    assert [line.split(":")[1] for line in reminders] == [" release", " staging", " TWINE_PASSWORD"]


def test_doctor_tells_it_beside_the_machine(llama: Path) -> None:
    done = cubingate(llama, "doctor", "--format", "json")
    assert done.returncode == 0
    names = [finding["name"] for finding in json.loads(done.stdout)["findings"]]
    assert {"engine", "matrix", "Dockerfile", "workflow", "to edit", "environment"} <= set(names)
    (llama / "other.yaml").write_text("x")
    assert "other.yaml:1:1" in cubingate(llama, "doctor", "--matrix", "other.yaml").stdout


def test_what_a_file_says_does_nothing_to_a_terminal(llama: Path) -> None:
    (llama / "matrix.yaml").write_text("version: 1 # EDIT: \x1b]0;pwned\x07\n")
    assert "\x1b" not in cubingate(llama, "doctor").stdout


def test_a_file_of_many_edits_is_counted(llama: Path) -> None:
    (llama / "dockerfiles/more").write_text("# EDIT: x\n" * 500)
    lines = [line for line in _missing(llama) if line.startswith("to edit")]
    assert len(lines) == 42
    assert lines[-2] == "to edit: and 463 lines more"


def test_the_workflow_of_a_matrix_in_a_folder_lies_at_the_top_of_the_repository(llama: Path) -> None:
    (llama / ".git").mkdir(exist_ok=True)
    (llama / "release").mkdir()
    for name in ("matrix.yaml", "dockerfiles"):
        (llama / name).rename(llama / "release" / name)
    workflow = llama / ".github/workflows/release.yml"
    workflow.unlink()
    done = cubingate(llama, "workflow", "--matrix", "release/matrix.yaml", "--output", str(workflow))
    assert done.returncode == 0, done.stderr
    seen = [look for look in _looks(llama / "release") if look.name == "workflow"]
    assert [(look.present, look.seen) for look in seen] == [(True, "release.yml")]
    assert "to edit: release/matrix.yaml:8: the version of what is released" in _missing(llama / "release")
    (llama / "release" / "matrix.yaml").write_text(
        (llama / "release" / "matrix.yaml").read_text().replace("flavour: cpu\n", "flavour: cpu\n      id: other\n", 1)
    )
    (stale,) = [look for look in _looks(llama / "release") if look.name == "workflow"]
    assert not stale.present, "its twin is told"
