"""A small matrix file to vary in tests, and ways to read one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.matrix.load import load_plan
from pipeline.matrix.mistakes import MatrixMistakes
from pipeline.matrix.yaml_source import parse_yaml

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.matrix.nodes import Node
    from pipeline.model.lane import Lane

HEAD = """\
version: 1
bundle: {name: server, version: "1.0"}
sources:
  tree: {path: src}
  bundle: {file: server.tar.gz, sha256: "0000000000000000000000000000000000000000000000000000000000000000"}
base_images:
  bookworm: {reference: debian:bookworm-slim}
  cuda: {reference: "nvidia/cuda:12.8.1-devel-ubuntu22.04"}
recipes:
  cmake: {dockerfile: cmake.Dockerfile, cmake_target: server, install: {server: bin/server}}
smoke:
  server: {command: [bin/server, "{model}", "{port}"]}
targets:
  a30: {gpu: A30, sm: 80, driver: 535.288.01, runner: [self-hosted, a30]}
  h200: {gpu: H200, sm: 90, driver: 580.65.06, runner: [self-hosted, h200]}
"""
CPU = "{flavour: cpu, source: bundle, smoke: server}"
CUDA = (
    "{flavour: cuda, source: tree, recipe: cmake, smoke: server, base_image: cuda, toolkit: 12.8.1, archs: 80-real, "
    "compression: speed, driver_floor: 525.60.13, targets: [a30]}"
)


def node(text: str) -> Node:
    """The nodes of ``text``."""
    return parse_yaml(text.encode(), "matrix.yaml")


def write(folder: Path, text: str) -> Path:
    """``text`` as a matrix file."""
    path = folder / "matrix.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def lanes(folder: Path, rest: str) -> tuple[Lane, ...]:
    """The lanes of ``HEAD`` and ``rest``."""
    return load_plan(write(folder, HEAD + rest)).lanes


def lane(folder: Path, combination: str, rest: str = "") -> Lane:
    """The only lane of a matrix with this one include."""
    (only,) = lanes(folder, f"matrix: {{include: [{combination}]}}\n{rest}")
    return only


def mistakes(folder: Path, text: str) -> list[str]:
    """Every mistake in ``text``, from line and column on."""
    with pytest.raises(MatrixMistakes) as caught:
        load_plan(write(folder, text))
    return [str(mistake).removeprefix(f"{folder}/") for mistake in caught.value.mistakes]


def mistakes_with(folder: Path, rest: str) -> list[str]:
    """Every mistake in ``HEAD`` and ``rest``, without its line and column."""
    return [mistake.split(": ", 1)[1] for mistake in mistakes(folder, HEAD + rest)]
