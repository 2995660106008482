"""A GPU for a container: what the engine is asked for, and what it says where NVIDIA's runtime is absent.

No machine with that runtime was at hand: that a GPU really arrives is unproven, and docs/smoke.md says so.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.engine import container
from pipeline.engine.interface import Launch
from pipeline.engine.process import ProcessEngine
from pipeline.errors import ExitStatus, InfrastructureError

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.engine.base_image import ReadyImage
    from pipeline.engine.docker import DockerEngine

WHOLE = "GPU-00000000-1111-2222-3333-444444444444"
SLICE = "MIG-55555555-6666-7777-8888-999999999999"


@pytest.fixture
def launch(tmp_path: Path, base: ReadyImage) -> Launch:
    (tmp_path / "model.gguf").write_text("weights")
    return Launch(
        ("sleep", "60"), tmp_path, tmp_path / "model.gguf", tmp_path / "server.log", image=base.reference, lane="test"
    )


def without_runtime() -> bool:
    return shutil.which("nvidia-container-runtime") is None


@pytest.mark.docker
@pytest.mark.parametrize("uuid", [WHOLE, SLICE])
def test_a_gpu_or_slice_is_asked_for_by_its_uuid_and_no_capability_of_the_kernel_is(
    engine: DockerEngine, launch: Launch, uuid: str
) -> None:
    made = container._create(
        engine.client, replace(launch, gpus=(uuid,)), str(launch.image), "0" * 12, container._network(engine.client)
    )
    try:
        made.reload()
        host: dict[str, Any] = made.attrs["HostConfig"]
    finally:
        made.remove(force=True)
    (request,) = host["DeviceRequests"]
    assert (request["Driver"], request["Count"], request["DeviceIDs"]) == ("nvidia", 0, [uuid])
    assert request["Capabilities"] == [["gpu", "compute", "utility"]]
    assert host["CapDrop"] == ["ALL"]
    assert host["ReadonlyRootfs"]
    assert not host["Privileged"]


@pytest.mark.docker
def test_nothing_is_asked_for_on_the_cpu(engine: DockerEngine, launch: Launch) -> None:
    made = container._create(engine.client, launch, str(launch.image), "1" * 12, container._network(engine.client))
    try:
        made.reload()
        assert not made.attrs["HostConfig"]["DeviceRequests"]
    finally:
        made.remove(force=True)


@pytest.mark.docker
@pytest.mark.skipif(not without_runtime(), reason="NVIDIA's container runtime is installed here")
def test_an_engine_without_nvidia_s_runtime_does_not_judge_the_product(engine: DockerEngine, launch: Launch) -> None:
    with pytest.raises(InfrastructureError, match="could not select device driver") as refused:
        engine.start(replace(launch, gpus=(WHOLE,)))
    assert refused.value.status is ExitStatus.INFRASTRUCTURE
    assert "nvidia-container-toolkit" in (refused.value.remedy or "")
    left = engine.client.containers.list(all=True, filters={"label": "io.cubingate.lane=test"})
    assert left == []


@pytest.mark.docker
def test_the_processes_of_a_container_are_told_as_the_machine_counts_them(engine: DockerEngine, launch: Launch) -> None:
    server = engine.start(launch)
    try:
        assert len(server.processes()) >= 2, "the first process and the server"
    finally:
        assert server.stop(2) == ()


def test_the_processes_of_a_server_and_its_children_are_told(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", "sleep 60 & sleep 60")
    server = ProcessEngine(os.environ).start(Launch(command, tmp_path, tmp_path, tmp_path / "server.log"))
    try:
        deadline = 200
        while len(server.processes()) < 3 and deadline:
            deadline -= 1
        assert len(server.processes()) == 3
    finally:
        server.stop(0.2)
