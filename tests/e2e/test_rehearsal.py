"""A target for which rehearsed suffices: approved where an assembler takes its PTX, refused where not, never proven."""

from __future__ import annotations

import shutil
import tarfile
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.policy import load_policy
from tests.e2e.street import write_matrix
from tests.rehearse.assemblers import fetch, ptx
from tests.rules.forge import Elf, build, container, pack
from tests.toolchain import Image

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.street import Street

pytestmark = pytest.mark.network

TARGET = "61@535.288.01"
CHECK = f"rehearse@{TARGET}"
LANE = {"flavour": "cuda", "driver_floor": "535.54.03", "targets": ["p40"]}
TARGETS = {"p40": {"gpu": "Tesla P40", "sm": 61, "driver": "535.288.01", "suffices": "rehearsed"}}
CONTENT = {
    "healthy": lambda: container("12.2", "ptx:60"),
    "lacking": lambda: pack([Image("ptx", "60", ptx("tanh.approx.f32 %f1, %f2;", target="sm_60").encode())], "12.8"),
    "native": lambda: container("12.2", "61"),
}


def bundle(folder: Path, name: str) -> dict[str, str]:
    build(Elf("libk.so", [CONTENT[name]()]), folder / name / "lib")
    path = folder / f"{name}.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder / name, name)
    return {"file": path.name, "sha256": sha256(path.read_bytes()).hexdigest()}


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Street:
    folder = tmp_path_factory.mktemp("rehearsal")
    row = load_policy().assembler(load_policy().parse_target(TARGET).driver, "61", "x86_64")
    kept = folder / ".cubingate" / "cache" / "sha256" / row.sha256
    kept.parent.mkdir(parents=True)
    shutil.copy(fetch(row), kept)
    lanes = [{"id": name, "source": name, "bundle": {"name": name, "version": "1.0"}, **LANE} for name in CONTENT]
    sources = {name: bundle(folder, name) for name in CONTENT}
    return write_matrix(folder, lanes, sources=sources, targets=TARGETS)


@pytest.fixture(scope="module")
def verdicts(street: Street) -> dict[str, dict[str, Any]]:
    done = street.cubingate("run", PIP_INDEX_URL="https://registry.invalid/simple")
    assert done.returncode == 1, done.stderr
    assert CHECK in done.stderr
    return street.verdicts()


def test_what_would_be_compiled_was(verdicts: dict[str, dict[str, Any]]) -> None:
    healthy = verdicts["healthy"]
    assert (healthy["verdict"], healthy["required"]) == ("approved", ["audit", CHECK])
    assert (healthy["proven"], healthy["rehearsed"], healthy["inferred"]) == ([], [CHECK], ["audit"])
    (target,) = healthy["targets"]
    assert (target["standing"], target["rehearsed_with"]) == ("rehearsed", ["ptxas 12.2.140"])


def test_what_an_assembler_refuses_is_refused(verdicts: dict[str, dict[str, Any]]) -> None:
    """The audit sees it too: the text is small enough to be read there."""
    lacking = verdicts["lacking"]
    assert (lacking["verdict"], lacking["failed"], lacking["rehearsed"]) == ("refused", ["audit", CHECK], [])
    assert "Feature 'tanh' requires .target sm_75 or higher" in lacking["reasons"][CHECK]
    assert lacking["targets"][0]["standing"] == "failed"


def test_machine_code_needs_none_and_is_not_called_rehearsed(verdicts: dict[str, dict[str, Any]]) -> None:
    native = verdicts["native"]
    assert (native["verdict"], native["rehearsed"], native["inferred"]) == ("approved", [], ["audit", CHECK])
    assert native["targets"][0]["standing"] == "inferred"
    assert native["reasons"][CHECK] == "1 container is served by machine code, none is compiled"


def test_the_gate_says_in_words_by_what(street: Street, verdicts: dict[str, dict[str, Any]]) -> None:
    assert verdicts
    told = street.cubingate("gate", "--explain", "healthy").stdout
    assert f"target {TARGET} (Tesla P40): rehearsed (rehearsed suffices)" in told
    assert "with  ptxas 12.2.140" in told


def test_the_plan_asks_for_it_and_for_no_gpu(street: Street) -> None:
    assert CHECK in street.cubingate("plan", "--format", "json").stdout
    assert f"none for {TARGET}: rehearsed suffices" in street.cubingate("plan", "--gpu-runs").stdout
