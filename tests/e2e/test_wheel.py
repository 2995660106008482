"""The wheel, installed in an empty environment away from the clone, does what the clone does."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from pipeline.publishers.staging import LISTS
from tests.e2e.street import write_matrix
from tests.fixture_server.builder import INCLUDED, included

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, ROOT], check=True)
    (built,) = out.glob("cubingate-*.whl")
    return built


@pytest.fixture(scope="module")
def cubingate(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed command, in an environment that has nothing else and does not see the clone."""
    place = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(place, with_pip=True)
    subprocess.run([place / "bin" / "pip", "install", "--quiet", wheel], check=True)
    return place / "bin" / "cubingate"


def run(cubingate: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    return subprocess.run(
        [cubingate, *arguments],
        cwd=folder,
        env={**environment, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def test_the_wheel_carries_templates_and_no_test(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for source in ("dockerfiles", "templates"):
        shipped = {name.removeprefix("pipeline/_shipped/") for name in names if f"_shipped/{source}/" in name}
        there = {str(path.relative_to(ROOT)) for path in (ROOT / source).rglob("*") if path.is_file()}
        assert shipped == there
    assert not [name for name in names if name.startswith("tests/") or "fixture" in name]


def test_every_command_explains_itself(cubingate: Path, tmp_path: Path) -> None:
    words = run(cubingate, tmp_path, "--help").stdout
    for command in ("plan", "build", "audit", "smoke", "show", "gate", "publish", "run", "policy", "explain", "schema"):
        assert command in words
        assert run(cubingate, tmp_path, command, "--help").returncode == 0


def test_a_prebuilt_lane_goes_all_the_way_to_dist(cubingate: Path, tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    assert run(cubingate, tmp_path, "plan").returncode == 0
    done = run(cubingate, tmp_path, "run")
    assert done.returncode == 0, done.stderr
    assert run(cubingate, tmp_path, "publish").returncode == 0
    assert street.published() == sorted([*LISTS, "fixture-1.0-linux-x86_64.tar.gz"])
    bundle = tmp_path / "dist" / "fixture-1.0-linux-x86_64.tar.gz"
    assert run(cubingate, tmp_path, "audit", str(bundle)).returncode == 0
    assert run(cubingate, tmp_path, "smoke", str(bundle)).returncode == 0
    assert run(cubingate, tmp_path, "show", str(bundle)).returncode == 0


@pytest.mark.docker
def test_a_source_lane_is_built_in_docker_from_the_shipped_dockerfile(cubingate: Path, tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [SOURCE_LANE], **source_sections(tmp_path))
    done = run(cubingate, tmp_path, "run")
    assert done.returncode == 0, done.stderr
    assert street.verdicts()["built"]["verdict"] == "approved"


SOURCE_LANE = {
    "id": "built",
    "source": "tree",
    "base_image": "base",
    "recipe": "tree",
    "smoke": "contained",
    "glibc": "2.36",
    "bundle": {"name": "built", "version": "1.0"},
}


def source_sections(folder: Path) -> dict[str, object]:
    """A lane whose source is the fixture server with a CMakeLists.txt, in a Debian base image."""
    tree = folder / "tree"
    tree.mkdir()
    (tree / "server.cpp").write_bytes((ROOT / "tests" / "fixture_server" / "server.cu").read_bytes())
    (tree / INCLUDED).write_text(included(), encoding="utf-8")
    (tree / "CMakeLists.txt").write_text(CMAKE, encoding="utf-8")
    command = ["bin/llama-server", "--host", "{host}", "--port", "{port}", "-m", "{model}"]
    recipe = {
        "dockerfile": "llama.cpp.Dockerfile",
        "cmake_target": "llama-server",
        "defines": {"CMAKE_BUILD_TYPE": "Release"},
        "install": {"llama-server": "bin/llama-server"},
    }
    return {
        "sources": {"tree": {"path": "tree"}},
        "base_images": {"base": {"reference": "debian:bookworm-slim", "fallback": {"debootstrap": "bookworm"}}},
        "recipes": {"tree": recipe},
        "smoke": {"contained": {"command": command, "contain": True}},
    }


CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(fixture CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(Threads REQUIRED)
add_executable(llama-server server.cpp)
target_link_libraries(llama-server Threads::Threads -static)
"""
