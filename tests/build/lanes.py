"""Source lanes on a project that compiles in a second, and the settings to build them with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.build.settings import BuildSettings, Network
from pipeline.model.lane import BaseImage, BuildRecipe, Debootstrap, Lane, PathSource
from pipeline.resources import find_resources
from tests.values import cpu_lane, cuda_lane

if TYPE_CHECKING:
    from pathlib import Path

BOOKWORM = BaseImage("bookworm", "debian:bookworm", fallback=Debootstrap("bookworm"))
RECIPE = BuildRecipe(
    dockerfile="cmake.Dockerfile",
    cmake_target="server",
    defines={"BUILD_SHARED_LIBS": "OFF"},
    install={"server": "bin/server"},
)

_CMAKE = """\
cmake_minimum_required(VERSION 3.22)
project(server C)
add_executable(server server.c)
"""
_SERVER = '#include <stdio.h>\nint main(void) { puts("hello from " __FILE__); return 0; }\n'


def tiny_project(folder: Path, *, server: str = _SERVER) -> Path:
    """A CMake project of one C file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "CMakeLists.txt").write_text(_CMAKE)
    (folder / "server.c").write_text(server)
    return folder


def source_lane(project: Path, **changes: Any) -> Lane:
    """A CPU lane that compiles ``project`` on Debian."""
    return cpu_lane(
        **{"id": "tiny", "source": PathSource(project), "recipe": RECIPE, "base_image": BOOKWORM, **changes}
    )


def cuda_source_lane(project: Path, **changes: Any) -> Lane:
    """A CUDA lane that compiles ``project``; give it toolkit and origin."""
    return cuda_lane(**{"source": PathSource(project), "recipe": RECIPE, "base_image": BOOKWORM, **changes})


def settings(**network: Any) -> BuildSettings:
    """Two jobs, a fixed time, the shipped Dockerfiles."""
    return BuildSettings(find_resources(), Network(**network), source_date_epoch=1_700_000_000, jobs=2)
