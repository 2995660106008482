"""``pick`` inside a real container: its own C library, and the driver by the ``nvidia-smi`` that runtimes put there.

No GPU is at hand here: ``nvidia-smi`` is a stand-in that prints what the tool printed of an A30 in MIG mode, whose
GPU instances have no row of their own (``--query-gpu`` lists boards; NVIDIA MIG User Guide, "Device enumeration").
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import docker
import pytest

from pipeline.engine.docker import DockerEngine
from tests.build.lanes import BOOKWORM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(sys.base_prefix == "/usr", reason="the system's own interpreter cannot be lent to a container"),
]

ROOT = Path(__file__).resolve().parents[2]
RELEASES: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "pick" / "vectors.json").read_text())["releases"]
MIG_STAND_IN = """#!/bin/sh
echo 'NVIDIA A30, GPU-0b0b0b0b-0000-0000-0000-000000000000, 8.0, 535.288.01'
"""

Picked: TypeAlias = "Callable[[str | None], tuple[int, dict[str, Any]]]"


@pytest.fixture
def picked(tmp_path: Path) -> Iterator[Picked]:
    """Runs the command in a container with this interpreter, lent read-only, and an ``nvidia-smi`` if one is given."""
    (tmp_path / "compat.json").write_text(json.dumps(RELEASES["full"]))
    with DockerEngine.connect() as engine:
        image = engine.ensure(BOOKWORM, lambda _: None).reference
    client = docker.from_env()
    lent = {place: {"bind": place, "mode": "ro"} for place in {sys.base_prefix, sys.prefix, str(ROOT), str(tmp_path)}}

    def run(smi: str | None) -> tuple[int, dict[str, Any]]:
        if smi is not None:
            tool = tmp_path / "nvidia-smi"
            tool.write_text(smi)
            tool.chmod(0o755)
            lent[str(tool)] = {"bind": "/usr/bin/nvidia-smi", "mode": "ro"}
        command = [sys.executable, "-m", "pipeline", "pick", str(tmp_path), "--format", "json"]
        container = client.containers.run(image, command, volumes=lent, working_dir=str(ROOT), detach=True)
        try:
            status = int(container.wait(timeout=120)["StatusCode"])
            out = container.logs(stdout=True, stderr=False)
            return status, json.loads(out) if out else {}
        finally:
            container.remove(force=True)

    yield run
    client.close()


def test_a_container_without_a_gpu_gets_the_cpu_asset_by_its_own_c_library(picked: Picked) -> None:
    status, found = picked(None)
    assert (status, found["pick"]) == (0, "server-cpu-x86_64.tar.gz")
    assert (found["machine"]["glibc"], found["machine"]["gpus"]) == ("2.36", [])


def test_a_mig_instance_has_its_boards_sm_and_driver(picked: Picked) -> None:
    """A stand-in speaks for the board: see above."""
    status, found = picked(MIG_STAND_IN)
    assert (status, found["pick"]) == (0, "server-cuda12.4-x86_64.tar.gz")
    assert found["machine"]["gpus"] == [{"sm": "80", "driver": "535.288.01", "name": "NVIDIA A30"}]


def test_a_runtime_that_mounted_a_broken_tool_is_an_error_and_no_cpu(picked: Picked) -> None:
    assert picked("#!/bin/sh\nexit 9\n") == (4, {})
