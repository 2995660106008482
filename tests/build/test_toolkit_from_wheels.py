"""CUDA lanes for real: nvcc out of NVIDIA's wheels, on a small base image and as a stand-in for NVIDIA's own."""

from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.build.builder import build_lane
from pipeline.commands.build_settings import settings_for
from pipeline.commands.options import environment
from pipeline.model.arch import ArchKind, TargetArch
from pipeline.model.lane import BuildRecipe, CompressionMode, ToolkitOrigin
from pipeline.model.versions import ToolkitVersion
from tests.build.lanes import RECIPE, cuda_source_lane
from tests.build.stand_in import stand_in_cuda

if TYPE_CHECKING:
    from pipeline.build.settings import BuildSettings
    from pipeline.engine.docker import DockerEngine
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane

pytestmark = [pytest.mark.docker, pytest.mark.network, pytest.mark.slow]

TOOLKIT = "13.0.2"
ARCHS = (TargetArch.of("80", ArchKind.REAL), TargetArch.of("90", ArchKind.VIRTUAL))
# Neither ccache nor BuildKit's cache (the number of jobs differs): each build really compiles.
UNCACHED: BuildRecipe = replace(
    RECIPE,
    defines={"CMAKE_CUDA_COMPILER_LAUNCHER": "", "CMAKE_CXX_COMPILER_LAUNCHER": ""},
    ship=("libcudart.so.*",),
)
_CMAKE = """\
cmake_minimum_required(VERSION 3.22)
project(server CXX CUDA)
add_executable(server server.cu)
set_target_properties(server PROPERTIES CUDA_RUNTIME_LIBRARY Shared)
"""
_SERVER = """\
#include <cstdio>
__global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }
int main() { scale<<<1, 32>>>(nullptr, 2.0f); std::puts(cudaGetErrorString(cudaGetLastError())); }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(_CMAKE)
    (folder / "server.cu").write_text(_SERVER)
    return folder


def _settings(jobs: int) -> BuildSettings:
    return replace(settings_for(Path("matrix.yaml"), environment()), jobs=jobs)


def _lane(project: Path, **changes: Any) -> Lane:
    facts = {
        "toolkit": ToolkitVersion(TOOLKIT),
        "toolkit_origin": ToolkitOrigin.WHEELS,
        "archs": ARCHS,
        "compression": CompressionMode.SIZE,
        "recipe": UNCACHED,
    }
    return cuda_source_lane(project, **{**facts, **changes})


def _build(lane: Lane, state: Path, engine: DockerEngine, jobs: int = 1) -> Artifact:
    return build_lane(lane, state=state, engine=engine, settings=_settings(jobs), progress=lambda _: None)


def _facts(artifact: Artifact) -> dict[str, Any]:
    with tarfile.open(artifact.path) as tar:
        stream = tar.extractfile(f"{artifact.path.name.removesuffix('.tar.gz')}/bundle.json")
        assert stream is not None
        facts: dict[str, Any] = json.load(stream)
    return facts


def test_two_builds_have_equal_device_code_and_packing(tmp_path: Path, project: Path, engine: DockerEngine) -> None:
    one = _build(_lane(project), tmp_path / "one", engine, jobs=1)
    two = _build(_lane(project), tmp_path / "two", engine, jobs=2)
    assert one.path.read_bytes() == two.path.read_bytes()
    facts = _facts(one)
    assert facts["nvcc"].startswith("13.0.")
    assert facts["archs"] == ["80-real", "90-virtual"]
    assert facts["definitions"]["CMAKE_CUDA_FLAGS"] == "--compress-mode=size"
    assert facts["toolkit_origin"] == "wheels"
    with tarfile.open(one.path) as tar:
        names = [member.name.partition("/")[2] for member in tar if member.isfile()]
    assert names == ["bin/server", "bundle.json", "lib/libcudart.so.13"]


def test_a_stand_in_for_nvidias_image_is_called_one(tmp_path: Path, project: Path, engine: DockerEngine) -> None:
    with stand_in_cuda(engine, TOOLKIT, _settings(1).network) as image:
        lane = _lane(project, toolkit_origin=ToolkitOrigin.BASE_IMAGE, base_image=image)
        facts = _facts(_build(lane, tmp_path / "state", engine))
    assert facts["base_image"]["origin"] == "stand-in"
    assert facts["base_image"]["reference"] == image.reference
    assert facts["toolkit_origin"] == "base-image"
    assert facts["nvcc"].startswith("13.0.")
