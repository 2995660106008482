"""``init`` in repositories of three kinds: what it writes is accepted unchanged; what is there stays as it is."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
import yaml

from pipeline.build.render import render_dockerfile
from pipeline.matrix.load import load_plan
from pipeline.resources import find_resources
from pipeline.scaffold.origin import Origin
from pipeline.scaffold.project import Kind, look_at
from pipeline.scaffold.render import render
from pipeline.scaffold.write import write_all
from pipeline.workflow.actions import load_actions
from tests.scaffold.repositories import (
    DOCKERFILE,
    LLAMA,
    ORIGIN,
    OTHER_SERVER,
    ROOT,
    TOOLS_ONLY,
    WHEEL,
    contents,
    cubingate,
    lint,
    repository,
)

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORIES = {
    "llama": (
        {"CMakeLists__txt": LLAMA, "pyproject__toml": TOOLS_ONLY, "Dockerfile": DOCKERFILE},
        "llama.cpp",
        "0.0.0",
    ),
    "server": ({"CMakeLists__txt": OTHER_SERVER, "__git___config": ORIGIN}, "fast_tokens", "2.3.1"),
    "wheel": ({"pyproject__toml": WHEEL, "CMakeLists__txt": OTHER_SERVER}, "Flash.Kernels", "0.4.0rc1"),
    "image": ({"Dockerfile": DOCKERFILE}, "image", "0.0.0"),
}
WRITTEN = {
    "llama": {"matrix.yaml", "dockerfiles/llama.cpp.Dockerfile", ".github/workflows/release.yml"},
    "server": {"matrix.yaml", "dockerfiles/fast_tokens.Dockerfile", ".github/workflows/release.yml"},
    "wheel": {"matrix.yaml", ".github/workflows/audit.yml"},
    "image": {"matrix.yaml", ".github/workflows/audit.yml"},
}


@pytest.mark.parametrize("name", REPOSITORIES)
def test_what_is_written_is_accepted_unchanged(name: str, tmp_path: Path) -> None:
    files, project, version = REPOSITORIES[name]
    folder = repository(tmp_path / name, **files)
    before = contents(folder)
    done = cubingate(folder, "init")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"name {project}, version {version}" in done.stdout
    after = contents(folder)
    assert set(after) - set(before) == WRITTEN[name]
    assert {key: after[key] for key in before} == before
    planned = cubingate(folder, "plan")
    assert (planned.returncode, planned.stderr) == (0, "")
    assert "warning" not in planned.stdout
    matrix = yaml.safe_load(after["matrix.yaml"])
    assert (matrix["bundle"]["name"], matrix["bundle"]["version"]) == (project, version)
    lint(folder)


@pytest.mark.parametrize(
    ("name", "option"), [("llama", "GGML_CUDA_COMPRESSION_MODE=speed"), ("server", "-compress-mode")]
)
def test_the_dockerfile_is_one_for_every_lane(name: str, option: str, tmp_path: Path) -> None:
    folder = repository(tmp_path / name, **REPOSITORIES[name][0])
    assert cubingate(folder, "init").returncode == 0
    for lane in load_plan(folder / "matrix.yaml").lanes:
        assert lane.recipe is not None
        text = render_dockerfile(lane, lane.recipe, "debian:bookworm-slim", find_resources(beside=folder)).text
        assert f"--target {lane.recipe.cmake_target}" in text
        assert (option in text) == (lane.flavour == "cuda")


def test_what_cmake_builds_is_told_from_its_files(tmp_path: Path) -> None:
    folder = repository(tmp_path, **REPOSITORIES["server"][0])
    assert cubingate(folder, "init").returncode == 0
    matrix = yaml.safe_load((folder / "matrix.yaml").read_text())
    assert matrix["recipes"]["cuda"]["cmake_target"] == "tokend"
    assert matrix["smoke"]["server"]["command"][0] == "bin/tokend"
    assert "repository: somebody/fast-tokens" in (folder / "matrix.yaml").read_text()


@pytest.mark.parametrize("kind", ["cpp", "wheel", "audit"])
def test_an_empty_folder_needs_to_be_told_what_it_is(kind: str, tmp_path: Path) -> None:
    done = cubingate(tmp_path, "init")
    assert done.returncode == 2
    assert "--kind cpp, wheel or audit" in done.stderr
    assert contents(tmp_path) == {}
    assert cubingate(tmp_path, "init", "--kind", kind).returncode == 0
    assert cubingate(tmp_path, "plan").returncode == 0
    lint(tmp_path)


HOSTILE = [
    'a"; rm -rf / #',
    "${{ github.token }}",
    "naïve-Überserver-模型",
    "x\ny: &a [*a]",
    "'; --output=/etc/passwd",
    "{{ [[ 7 * 7 ]] }}[% raw %]",
    "../../outside",
    "\u202eevil\u0000",
    "…",
    "-rf",
    "x" * 5000,
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("kind", Kind)
def test_no_name_becomes_anything_else(kind: Kind, hostile: str, tmp_path: Path) -> None:
    quoted = json.dumps(hostile).replace("\\u0000", "\\u0001")
    repo = repository(
        tmp_path / "repo",
        CMakeLists__txt=f"project({hostile} VERSION {hostile})\nadd_executable({hostile} a.cpp)\n",
        pyproject__toml=f"[project]\nname = {quoted}\nversion = {quoted}\n",
    )
    before = set(contents(tmp_path))
    files = render(look_at(repo, kind), Origin(), load_actions(), find_resources().templates)
    assert write_all(repo, files) == list(files)
    assert set(contents(tmp_path)) - before == {f"repo/{name}" for name in files}
    assert all(name.isascii() and name.isprintable() and ".." not in name for name in files)
    for text in files.values():
        assert set(re.findall(r"\$\{\{.*?\}\}", text)) <= {"${{ github.ref }}"}
    lanes = load_plan(repo / "matrix.yaml").lanes
    assert {lane.id for lane in lanes} <= {"cpu", "cuda12.8-sm80-120", "wheel", "image"}
    for lane in lanes:
        if lane.recipe is not None:
            render_dockerfile(lane, lane.recipe, "debian:bookworm-slim", find_resources(beside=repo))
    if hostile == HOSTILE[1]:
        lint(repo)


def test_a_folder_of_any_name(tmp_path: Path) -> None:
    folder = repository(tmp_path / "my $(server)\n“x”", Dockerfile=DOCKERFILE)
    done = cubingate(folder, "init")
    assert done.returncode == 0
    assert "name my-server-x," in done.stdout


@pytest.mark.parametrize("name", ["matrix.yaml", ".github/workflows/release.yml", "dockerfiles/llama.cpp.Dockerfile"])
@pytest.mark.parametrize("what", ["file", "folder", "link", "dangling"])
def test_nothing_is_overwritten(name: str, what: str, tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo", **REPOSITORIES["llama"][0])
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    match what:
        case "file":
            place.write_text("mine\n")
        case "folder":
            place.mkdir()
        case "link":
            place.symlink_to(folder / "Dockerfile")
        case _:
            place.symlink_to(tmp_path / "outside")
    before = contents(tmp_path)
    done = cubingate(folder, "init")
    assert done.returncode == 2
    assert f"already there: {name} (nothing was written" in done.stderr
    assert contents(tmp_path) == before
    assert not done.stdout


def test_a_way_through_a_link_is_refused(tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo", **REPOSITORIES["image"][0])
    (tmp_path / "elsewhere").mkdir()
    (folder / ".github").symlink_to(tmp_path / "elsewhere")
    done = cubingate(folder, "init")
    assert done.returncode == 2
    assert "is not a folder of this repository" in done.stderr
    assert not list((tmp_path / "elsewhere").iterdir())
    assert not (folder / "matrix.yaml").exists()


def test_a_file_in_the_way_of_a_folder_is_refused(tmp_path: Path) -> None:
    folder = repository(tmp_path, **REPOSITORIES["image"][0], __github="a file\n")
    assert cubingate(folder, "init").returncode == 2
    assert not (folder / "matrix.yaml").exists()


def test_a_second_run_finds_its_own_files(tmp_path: Path) -> None:
    folder = repository(tmp_path, **REPOSITORIES["llama"][0])
    assert cubingate(folder, "init").returncode == 0
    before = contents(folder)
    (folder / "matrix.yaml").unlink()
    done = cubingate(folder, "init")
    assert done.returncode == 0
    assert "wrote  matrix.yaml\nthere  dockerfiles/llama.cpp.Dockerfile\n" in done.stdout
    assert contents(folder) == before


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """The kernel's own tree: nobody makes files there, root neither."""
    done = cubingate(tmp_path, "init", "--kind", "cpp", "/proc/self")
    assert done.returncode == 4
    assert "cannot write in /proc/self" in done.stderr
    assert "nothing was written" in done.stderr


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    done = cubingate(tmp_path, "init", "absent", "--kind", "cpp")
    assert (done.returncode, done.stderr) == (2, "cubingate: absent is not a folder (name the top of the repository)\n")


# Stops where the second file is about to be linked into its place, and waits to be killed.
SLOW = """
import sys, time, pathlib
link, done = pathlib.Path.hardlink_to, []
def slow(self, target):
    if done:
        pathlib.Path(sys.argv[1]).touch()
        time.sleep(60)
    done.append(self)
    link(self, target)
pathlib.Path.hardlink_to = slow
from pipeline.cli import run
sys.exit(run(["init", "."]))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_halfway(how: signal.Signals, tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo", **REPOSITORIES["llama"][0])
    before = contents(folder)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", SLOW, str(tmp_path / "there")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    while not (tmp_path / "there").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(how)
    process.wait(timeout=30)
    if how is not signal.SIGKILL:
        assert contents(folder) == before
        assert not (folder / "dockerfiles").exists()
    done = cubingate(folder, "init")
    assert done.returncode == 0
    clean = repository(tmp_path / "clean", **REPOSITORIES["llama"][0])
    assert cubingate(clean, "init").returncode == 0
    assert contents(folder) == contents(clean)
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in clean.iterdir())


def test_the_cubingate_that_is_named_is_used(tmp_path: Path) -> None:
    folder = repository(tmp_path, Dockerfile=DOCKERFILE)
    assert cubingate(folder, "init", "--cubingate", f"somebody/cubingate@{COMMIT}").returncode == 0
    text = (folder / ".github/workflows/audit.yml").read_text()
    assert f"uses: somebody/cubingate/.github/actions/audit@{COMMIT}\n" in text
    assert "OWNER" not in text
    assert "EDIT" not in text


@pytest.mark.parametrize(
    "text", ["main", "o/n@main", f"o/n@{COMMIT[:-1]}", f"o/n@{COMMIT}\n", f"o/n ${{{{x}}}}@{COMMIT}"]
)
def test_a_tag_is_no_commit(text: str, tmp_path: Path) -> None:
    done = cubingate(repository(tmp_path, Dockerfile=DOCKERFILE), "init", "--cubingate", text)
    assert done.returncode == 2
    assert "is not OWNER/NAME@COMMIT" in done.stderr
