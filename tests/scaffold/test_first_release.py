"""What ``init`` wrote, built in Docker and approved: a C++ server of somebody's from nothing to a published bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fixture_server.builder import INCLUDED, SOURCE, included
from tests.scaffold.repositories import cubingate, repository

if TYPE_CHECKING:
    from pathlib import Path

CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(tokend VERSION 1.2 LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
find_package(Threads REQUIRED)
add_executable(tokend-server main.cpp)
target_link_libraries(tokend-server Threads::Threads)
"""


@pytest.mark.docker
@pytest.mark.network
def test_from_nothing_to_a_published_bundle(tmp_path: Path) -> None:
    folder = repository(tmp_path, CMakeLists__txt=CMAKE, main__cpp=SOURCE.read_text(encoding="utf-8"))
    (folder / INCLUDED).write_text(included(), encoding="utf-8")
    assert cubingate(folder, "init").returncode == 0
    matrix = folder / "matrix.yaml"
    text = matrix.read_text(encoding="utf-8")
    # Where no image can be pulled its suite is bootstrapped; and nobody here waits for an hour of nvcc.
    for old, new in {
        '"debian:bookworm-slim"}': '"debian:bookworm-slim", fallback: {debootstrap: bookworm}}',
        "location: dist}": "location: dist, partial: true}",
    }.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    matrix.write_text(text, encoding="utf-8")
    first = cubingate(folder, "run", "--lane", "cpu")
    assert first.returncode == 0, first.stderr
    (asset,) = (folder / ".cubingate/lanes/cpu").glob("*.tar.gz")
    built = asset.stat().st_mtime_ns
    second = cubingate(folder, "run", "--lane", "cpu")
    assert second.returncode == 0, second.stderr
    assert asset.stat().st_mtime_ns == built
    assert cubingate(folder, "publish").returncode == 0
    assert "tokend-1.2-linux-x86_64.tar.gz" in {path.name for path in (folder / "dist").iterdir()}
