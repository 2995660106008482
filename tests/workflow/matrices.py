"""Matrix files of different shapes, and the workflows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.matrix.gpu_runs import gpu_runs
from pipeline.matrix.load import load_plan
from pipeline.resources import find_resources
from pipeline.workflow.actions import load_known
from pipeline.workflow.render import Kind, Repository, render
from tests.matrix.files import CPU, CUDA, HEAD, write
from tests.values import POLICY

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = load_known()
ACTIONS = KNOWN.actions
DIST = "publishers: {dist: {kind: directory, location: dist}}\n"
RELEASE = "publishers: {release: {kind: github, repository: owner/name, tag: v1}}\n"
INDEX = 'publishers: {pypi: {kind: python-index, upload: "https://index.example/legacy/", simple: "https://index.example/simple/"}}\n'


def _matrix(*lanes: str, publishers: str = "") -> str:
    return f"{HEAD}matrix: {{include: [{', '.join(lanes)}]}}\n{publishers}"


H200 = CUDA.replace("80-real", "90-real").replace("[a30]", "[h200]").replace("{flavour", '{id: "h.200", flavour')
MATRICES = {
    "cpu-only": _matrix(CPU),
    "cpu-to-a-directory": _matrix(CPU, publishers=DIST),
    "gpu-to-a-release": _matrix(CPU, CUDA, publishers=RELEASE),
    "two-gpus-to-an-index": _matrix(CUDA, H200, publishers=INDEX),
    "on-demand-and-arm": _matrix(
        CPU.replace("{flavour", "{platform: aarch64, flavour"), CUDA.replace("}", ", on_demand: true}"), publishers=DIST
    ),
}
HAS_GPU = {name for name, text in MATRICES.items() if "cuda, source" in text.partition("matrix:")[2]}
PUBLISHES = {name for name, text in MATRICES.items() if "publishers:" in text}


def rendered(folder: Path, kind: Kind, matrix: str) -> str:
    """The workflow of ``matrix``."""
    plan = load_plan(write(folder, matrix))
    where = Repository(matrix_file="matrix.yaml", install="cubingate==1")
    runs = gpu_runs(plan, POLICY)
    return render(kind, plan, runs, where, actions=ACTIONS, templates=find_resources().templates)
