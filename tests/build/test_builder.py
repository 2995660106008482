"""Lanes to bundles: fetched without an engine, compiled with one, and what is left when it goes wrong."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pipeline.build.builder import build_lane
from pipeline.build.diagnosis import CompilerFailed
from pipeline.errors import CorruptInput, EngineUnavailable, InfrastructureError, Refused, UsageError
from pipeline.model.lane import BaseImage, Platform, PrebuiltFile, ToolkitOrigin
from pipeline.model.versions import ToolkitVersion
from tests.build.lanes import RECIPE, cuda_source_lane, settings, source_lane, tiny_project
from tests.values import cpu_lane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.engine.docker import DockerEngine
    from pipeline.model.artifact import Artifact
    from pipeline.model.lane import Lane

CA = b"-----BEGIN CERTIFICATE-----\ncubingate tests: these bytes must be nowhere\n-----END CERTIFICATE-----\n"


def _silent(_line: str) -> None:
    """Nobody watches."""


def _build(lane: Lane, state: Path, engine: DockerEngine | None = None, **network: Path) -> Artifact:
    return build_lane(lane, state=state, engine=engine, settings=settings(**network), progress=_silent)


def _prebuilt(folder: Path, content: bytes = b"finished") -> Lane:
    (folder / "server.tar.gz").write_bytes(content)
    return cpu_lane(source=PrebuiltFile(folder / "server.tar.gz", hashlib.sha256(b"finished").hexdigest()))


def test_a_finished_bundle_needs_no_engine(tmp_path: Path) -> None:
    artifact = _build(_prebuilt(tmp_path), tmp_path / "state")
    assert artifact.path == tmp_path / "state/lanes/cpu/server.tar.gz"
    assert artifact.path.read_bytes() == b"finished"
    assert artifact.sha256 == hashlib.sha256(b"finished").hexdigest()
    assert _build(_prebuilt(tmp_path), tmp_path / "state") == artifact


def test_a_finished_bundle_that_changed_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(CorruptInput, match="declared sha256"):
        _build(_prebuilt(tmp_path, b"changed"), tmp_path / "state")
    assert [path for path in (tmp_path / "state").rglob("*") if path.is_file()] == []


def test_a_source_lane_without_an_engine(tmp_path: Path, project: Path) -> None:
    with pytest.raises(EngineUnavailable, match="tiny: not built: no engine"):
        _build(source_lane(project), tmp_path / "state")


def test_a_full_state_directory(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    with pytest.raises(InfrastructureError, match="cannot make"):
        _build(_prebuilt(tmp_path), tmp_path / "state")


@pytest.mark.docker
def test_a_lane_is_built_once(tmp_path: Path, project: Path, engine: DockerEngine) -> None:
    artifact = _build(source_lane(project), tmp_path / "state", engine)
    assert artifact.path.name == "server-1.0-linux-x86_64.tar.gz"
    with tarfile.open(artifact.path) as tar:
        tar.extractall(tmp_path, filter="data")
    bundle = tmp_path / "server-1.0-linux-x86_64"
    assert subprocess.check_output([str(bundle / "bin/server")]) == b"hello from /src/server.c\n"
    facts = json.loads((bundle / "bundle.json").read_text())
    assert (facts["kind"], facts["lane"], facts["source"]["kind"]) == ("bundle", "tiny", "path")
    assert facts["compiler"].startswith("g++")
    assert facts["base_image"]["digest"].startswith("sha256:")
    logs = tmp_path / "state/lanes/tiny/logs"
    assert "[compile" in (logs / "build.log").read_text()
    assert " AS compile\n" in (logs / "Dockerfile").read_text()
    before = artifact.path.stat().st_mtime_ns
    started = time.monotonic()
    assert _build(source_lane(project), tmp_path / "state", engine) == artifact
    assert time.monotonic() - started < 1
    assert artifact.path.stat().st_mtime_ns == before


@pytest.mark.docker
def test_two_builds_are_equal_byte_for_byte(tmp_path: Path, engine: DockerEngine) -> None:
    # Another number of jobs is another step for BuildKit, and no launcher is no ccache: both really compile.
    recipe = replace(RECIPE, defines={"CMAKE_C_COMPILER_LAUNCHER": ""})
    built = [
        build_lane(
            source_lane(tiny_project(tmp_path / f"project{jobs}"), recipe=recipe),
            state=tmp_path / f"state{jobs}",
            engine=engine,
            settings=replace(settings(), jobs=jobs),
            progress=_silent,
        )
        for jobs in (1, 2)
    ]
    assert built[0].sha256 == built[1].sha256
    assert built[0].recipe_digest == built[1].recipe_digest


@pytest.mark.docker
@pytest.mark.parametrize("change", ["source", "define", "bundle"])
def test_a_change_is_built(tmp_path: Path, project: Path, engine: DockerEngine, change: str) -> None:
    lane = source_lane(project)
    before = _build(lane, tmp_path / "state", engine)
    match change:
        case "source":
            tiny_project(project, server='#include <stdio.h>\nint main(void) { puts("bye"); return 0; }\n')
        case "define":
            lane = source_lane(project, recipe=replace(RECIPE, defines={"CMAKE_BUILD_TYPE": "Debug"}))
        case _:
            before.path.write_bytes(b"damaged")
    after = _build(lane, tmp_path / "state", engine)
    assert after.path.read_bytes() != b"damaged"
    assert (after.recipe_digest == before.recipe_digest) == (change == "bundle")
    assert (after.sha256 == before.sha256) == (change == "bundle")


class _Told(NamedTuple):
    error: Exception
    state: Path


def _failure(lane: Lane, state: Path, engine: DockerEngine) -> _Told:
    with pytest.raises((Refused, InfrastructureError, UsageError)) as failure:
        _build(lane, state, engine)
    assert "\n" not in str(failure.value)
    assert [path.name for path in (state / "lanes" / lane.id).iterdir() if path.is_file()] == []
    assert [path for path in state.iterdir() if path.name.startswith(".")] == []
    return _Told(failure.value, state)


@pytest.mark.docker
def test_a_compiler_that_fails_refuses_the_lane(tmp_path: Path, engine: DockerEngine) -> None:
    project = tiny_project(tmp_path / "project", server="int main(void) { return nonsense; }\n")
    error = _failure(source_lane(project), tmp_path / "state", engine).error
    assert isinstance(error, CompilerFailed)
    assert "server.c:1:25: error: 'nonsense' undeclared" in error.message
    assert "FAILED" in error.tail
    assert error.remedy == f"the whole log is {tmp_path}/state/lanes/tiny/logs/build.log"


@pytest.mark.docker
def test_a_failed_build_does_not_leave_yesterdays_bundle_as_todays(tmp_path: Path, engine: DockerEngine) -> None:
    project = tiny_project(tmp_path / "project")
    _build(source_lane(project), tmp_path / "state", engine)
    tiny_project(project, server="nonsense\n")
    with pytest.raises(Refused):
        _build(source_lane(project), tmp_path / "state", engine)
    assert not (tmp_path / "state/lanes/tiny/build.json").exists()


@pytest.mark.docker
def test_a_file_that_the_build_does_not_make(tmp_path: Path, project: Path, engine: DockerEngine) -> None:
    lane = source_lane(project, recipe=replace(RECIPE, install={"none": "bin/none"}))
    error = _failure(lane, tmp_path / "state", engine).error
    assert isinstance(error, Refused)
    assert "'/build/none': No such file" in str(error)


@pytest.mark.docker
def test_a_package_that_does_not_exist_is_not_the_products_fault(
    tmp_path: Path, project: Path, engine: DockerEngine
) -> None:
    lane = source_lane(project, recipe=replace(RECIPE, packages=("cubingate-no-such-package",)))
    error = _failure(lane, tmp_path / "state", engine).error
    assert isinstance(error, InfrastructureError)
    assert "Unable to locate package cubingate-no-such-package" in str(error)


@pytest.mark.docker
def test_a_missing_base_image(tmp_path: Path, project: Path, engine: DockerEngine) -> None:
    lane = source_lane(project, base_image=BaseImage("x", "localhost:1/none:1"))
    assert isinstance(_failure(lane, tmp_path / "state", engine).error, InfrastructureError)


@pytest.mark.docker
def test_another_platform(tmp_path: Path, project: Path, engine: DockerEngine) -> None:
    other = {"x86_64": Platform.AARCH64, "aarch64": Platform.X86_64}[engine.facts().platform]
    error = _failure(source_lane(project, platform=other), tmp_path / "state", engine).error
    assert "the container engine runs on" in str(error)


@pytest.mark.docker
def test_a_disk_without_room(
    tmp_path: Path, project: Path, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("pipeline.build.disk.shutil.disk_usage", lambda _: usage._replace(free=1 << 30))
    error = _failure(source_lane(project), tmp_path / "state", engine).error
    assert isinstance(error, InfrastructureError)
    assert "may need 3 GiB" in str(error)


@pytest.fixture
def old_toolkit(engine: DockerEngine) -> Iterator[str]:
    """An image with an ``nvcc`` that says 12.4: what a wrong base image looks like from inside."""
    from pipeline.engine.buildkit import BuildRequest
    from pipeline.engine.context import BuildContext
    from tests.build.lanes import BOOKWORM

    base = engine.ensure(BOOKWORM, _silent)
    says = "Cuda compilation tools, release 12.4, V12.4.131"
    dockerfile = (
        f"FROM {base.reference}\n"
        f"RUN mkdir -p /usr/local/cuda/bin && printf '#!/bin/sh\\necho {says}\\n' > /usr/local/cuda/bin/nvcc "
        "&& chmod 755 /usr/local/cuda/bin/nvcc\n"
    )
    tag = "cubingate-local/test-old-toolkit:1"
    engine.build(BuildRequest(lane="test", tag=tag, context=BuildContext(dockerfile)), _silent)
    yield tag
    engine.remove_image(tag)


@pytest.mark.docker
def test_a_toolkit_that_is_not_the_declared_one(
    tmp_path: Path, project: Path, engine: DockerEngine, old_toolkit: str
) -> None:
    lane = cuda_source_lane(
        project,
        id="tiny",
        toolkit=ToolkitVersion("12.8.1"),
        toolkit_origin=ToolkitOrigin.BASE_IMAGE,
        base_image=BaseImage("old", old_toolkit),
    )
    error = _failure(lane, tmp_path / "state", engine).error
    assert isinstance(error, Refused)
    assert str(error).startswith("tiny: declared toolkit 12.8.1, observed nvcc 12.4.131 in the container")


@pytest.mark.docker
def test_certificates_are_seen_by_the_build_and_in_no_result(
    tmp_path: Path, project: Path, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca.crt").write_bytes(CA)
    removed: list[str] = []
    monkeypatch.setattr(type(engine), "remove_image", lambda _self, tag: removed.append(tag))
    try:
        artifact = _build(source_lane(project), tmp_path / "state", engine, ca_bundle=tmp_path / "ca.crt")
        image = engine.client.images.get(removed[0])
        saved = b"".join(image.save())
    finally:
        monkeypatch.undo()
        for tag in removed:
            engine.remove_image(tag)
    needle = b"these bytes must be nowhere"
    with tarfile.open(artifact.path) as tar:
        contents = [stream.read() for member in tar if (stream := tar.extractfile(member)) is not None]
    assert len(contents) == 2
    assert not any(needle in content for content in contents)
    assert len(saved) > 10_000
    assert needle not in saved
    log = (tmp_path / "state/lanes/tiny/logs/build.log").read_bytes()
    assert needle not in log


@pytest.mark.docker
def test_certificates_that_are_not_there(tmp_path: Path, project: Path, engine: DockerEngine) -> None:
    with pytest.raises(InfrastructureError, match="cannot read the certificates"):
        _build(source_lane(project), tmp_path / "state", engine, ca_bundle=tmp_path / "none.crt")


_ENDLESS = """\
import sys
from pathlib import Path
from pipeline.build.builder import build_lane
from pipeline.engine.docker import DockerEngine
from tests.build.lanes import settings, source_lane
with DockerEngine.connect() as engine:
    lane = source_lane(Path(sys.argv[1]), id=sys.argv[3])
    build_lane(lane, state=Path(sys.argv[2]), engine=engine, settings=settings(), progress=print)
"""


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def _running(words: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words in path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"):
                return True
        except OSError:
            continue
    return False


@pytest.mark.docker
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_build_that_is_stopped_leaves_nothing_running(
    tmp_path: Path, project: Path, engine: DockerEngine, how: signal.Signals
) -> None:
    endless = f"sleep 86{os.getpid()}{int(how)}"
    program, seconds = endless.split()
    with (project / "CMakeLists.txt").open("a") as stream:
        stream.write(f"execute_process(COMMAND {program} {seconds})\n")
    lane = f"endless-{os.getpid()}-{int(how)}"
    process = subprocess.Popen(
        [sys.executable, "-c", _ENDLESS, str(project), str(tmp_path / "state"), lane],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert _wait(lambda: _running(endless), 60)
        process.send_signal(how)
        process.communicate(timeout=10)
    finally:
        process.kill()
        process.wait()
    assert _wait(lambda: not _running(endless), 10)
    label = {"label": f"io.cubingate.lane={lane}"}
    assert engine.client.containers.list(all=True, filters={**label}) == []
    assert engine.client.images.list(filters={**label}) == []
    assert not (tmp_path / "state/lanes" / lane / "build.json").exists()
    if how is signal.SIGINT:
        assert [path for path in (tmp_path / "state").iterdir() if path.name.startswith(".")] == []
