"""Dockerfiles: what a lane declares is what they say, and nothing of a value becomes a command."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.build.render import RenderedDockerfile, cmake_architectures, render_dockerfile
from pipeline.errors import UsageError
from pipeline.model.arch import ArchKind, TargetArch
from pipeline.model.lane import BuildRecipe, CompressionMode, ToolkitOrigin
from pipeline.model.versions import ToolkitVersion
from pipeline.resources import Resources, find_resources
from tests.build.lanes import RECIPE, cuda_source_lane, source_lane

BASE = "debian:bookworm"
LLAMA = replace(RECIPE, dockerfile="llama.cpp.Dockerfile")
ARCHS = (TargetArch.of("90a", ArchKind.REAL), TargetArch.of("80", ArchKind.VIRTUAL))


def _cpu(recipe: BuildRecipe = RECIPE) -> RenderedDockerfile:
    return render_dockerfile(source_lane(Path(), recipe=recipe), recipe, BASE, find_resources())


def _cuda(recipe: BuildRecipe = LLAMA, **changes: Any) -> RenderedDockerfile:
    facts = {"toolkit": ToolkitVersion("13.0.2"), "toolkit_origin": ToolkitOrigin.WHEELS, "archs": ARCHS, **changes}
    return render_dockerfile(cuda_source_lane(Path(), recipe=recipe, **facts), recipe, BASE, find_resources())


def test_a_cpu_lane_has_no_toolkit() -> None:
    rendered = _cpu()
    assert rendered.text.splitlines()[0].startswith(f"FROM {BASE} AS tools")
    assert rendered.definitions == {"BUILD_SHARED_LIBS": "OFF"}
    for word in ("cuda", "CUDA", "pip"):
        assert word not in rendered.text.replace("pip.conf", "")


def test_a_toolkit_of_wheels_is_one_pinned_release() -> None:
    assert "cublas]==13.0.2" in _cuda().text
    assert "cublas]==13.1.*" in _cuda(toolkit=ToolkitVersion("13.1")).text
    assert "/nvidia/cu13 /usr/local/cuda" in _cuda().text


def test_a_base_image_brings_its_own_toolkit() -> None:
    text = _cuda(toolkit=ToolkitVersion("12.8.1"), toolkit_origin=ToolkitOrigin.BASE_IMAGE).text
    assert "pip3" not in text
    assert "nvcc --version" in text
    assert "12.8.*) ;; *) exit 65" in text


def test_wheels_without_nvcc_are_refused() -> None:
    with pytest.raises(UsageError, match="carry no nvcc driver"):
        _cuda(toolkit=ToolkitVersion("12.8.1"))


def test_architectures_in_cmakes_dialect() -> None:
    assert cmake_architectures(ARCHS) == "90a-real;80-virtual"
    assert "'-DCMAKE_CUDA_ARCHITECTURES=90a-real;80-virtual'" in _cuda().text


@pytest.mark.parametrize("mode", list(CompressionMode))
def test_the_compression_mode_reaches_nvcc(mode: CompressionMode) -> None:
    assert _cuda(compression=mode).definitions["GGML_CUDA_COMPRESSION_MODE"] == mode.value
    direct = _cuda(replace(RECIPE, defines={"CMAKE_CUDA_FLAGS": "-lineinfo"}), compression=mode)
    assert direct.definitions["CMAKE_CUDA_FLAGS"] == f"-lineinfo --compress-mode={mode}"


def test_without_a_mode_nvcc_decides() -> None:
    assert "compress" not in _cuda(RECIPE, compression=None).text


def test_what_a_lane_decides_cannot_be_defined_away() -> None:
    recipe = replace(LLAMA, defines={"CMAKE_CUDA_ARCHITECTURES": "52", "GGML_CUDA_COMPRESSION_MODE": "none"})
    definitions = _cuda(recipe, compression=CompressionMode.SPEED).definitions
    assert definitions["CMAKE_CUDA_ARCHITECTURES"] == "90a-real;80-virtual"
    assert definitions["GGML_CUDA_COMPRESSION_MODE"] == "speed"


@pytest.mark.parametrize("value", ["$(touch /x)", "a; rm -rf /", "'quoted'", "$ORIGIN", "back\\", "a b"])
def test_a_define_is_one_word_for_the_shell(value: str) -> None:
    text = _cpu(replace(RECIPE, defines={"X": value})).text
    assert f"-DX={value}" in shlex.split(text[text.index("cmake -S") :].replace("\\\n", " ").splitlines()[0])


@pytest.mark.parametrize(
    "changes",
    [
        {"defines": {"X": "a\nRUN touch /x"}},
        {"defines": {"X Y": "1"}},
        {"defines": {"X;touch": "1"}},
        {"install": {"../etc/passwd": "bin/x"}},
        {"install": {"/etc/passwd": "bin/x"}},
        {"install": {"server": "bin/$(touch x)"}},
        {"install": {"server": "../x"}},
        {"install": {}},
        {"ship": ("libcudart.so.* && touch /x",)},
        {"packages": ("git && touch /x",)},
        {"packages": ("--allow-downgrades",)},
        {"cmake_target": "server\nRUN touch /x"},
    ],
)
def test_values_that_no_dockerfile_should_carry(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="tiny: "):
        _cpu(replace(RECIPE, **changes))


@pytest.mark.parametrize("base", ["", "debian\nRUN touch /x", "debian AS tools", "--platform=x"])
def test_a_base_that_is_no_image(base: str) -> None:
    with pytest.raises(UsageError, match="is not a target on an image"):
        render_dockerfile(source_lane(Path()), RECIPE, base, find_resources())


def test_packages_and_libraries() -> None:
    assert "ccache git libfoo-dev=1.2-3 \\" in _cpu(replace(RECIPE, packages=("git", "libfoo-dev=1.2-3"))).text
    assert (
        "for file in libcudart.so.* libcublas.so.13; do"
        in _cuda(replace(LLAMA, ship=("libcudart.so.*", "libcublas.so.13"))).text
    )


def test_an_unknown_dockerfile_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="there is no Dockerfile none") as failure:
        _cpu(replace(RECIPE, dockerfile="none"))
    assert failure.value.remedy == "known: cmake.Dockerfile, llama.cpp.Dockerfile"


@pytest.mark.parametrize("text", ["{% if %}", "{{ nonsense }}", '{% include "none.j2" %}'])
def test_a_template_that_is_wrong(tmp_path: Path, text: str) -> None:
    (tmp_path / "own.Dockerfile").write_text(text)
    resources = Resources((tmp_path,), find_resources().templates)
    recipe = replace(RECIPE, dockerfile="own.Dockerfile")
    with pytest.raises(UsageError):
        render_dockerfile(source_lane(Path()), recipe, BASE, resources)


def test_dockerfiles_beside_the_matrix_go_first(tmp_path: Path) -> None:
    own = tmp_path / "dockerfiles"
    own.mkdir()
    (own / "cmake.Dockerfile").write_text("FROM {{ base }}\n")
    rendered = render_dockerfile(source_lane(Path()), RECIPE, BASE, find_resources(beside=tmp_path))
    assert rendered.text == f"FROM {BASE}\n"
