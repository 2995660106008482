"""The engine itself: reaching it, base images, servers in containers."""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.engine.base_image import ImageOrigin, ReadyImage
from pipeline.engine.docker import is_our_image
from pipeline.engine.interface import Launch, Server
from pipeline.errors import ExitStatus, InfrastructureError
from pipeline.model.lane import BaseImage, Debootstrap
from tests.build.lanes import BOOKWORM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.engine.docker import DockerEngine

STAND_IN = "cubingate-test/stand-in:1"
SERVE = """
use IO::Socket::INET;
my ($host, $port) = @ARGV;
my $listener = IO::Socket::INET->new(LocalAddr => $host, LocalPort => $port, Listen => 5, ReuseAddr => 1) or die;
$| = 1; print "ready as $<\\n";
while (my $client = $listener->accept) { print $client "HTTP/1.0 200 OK\\r\\n\\r\\nhello"; close $client; }
"""


@pytest.fixture
def launch(tmp_path: Path, base: ReadyImage) -> Launch:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "serve.pl").write_text(SERVE)
    (tmp_path / "model.gguf").write_text("weights")
    return Launch(
        ("perl", "{bundle}/serve.pl", "{host}", "{port}"),
        bundle,
        tmp_path / "model.gguf",
        tmp_path / "logs" / "server.log",
        image=base.reference,
        lane=f"test-{uuid.uuid4().hex}",
    )


def _printed(server: Server, text: str) -> str:
    deadline = time.monotonic() + 10
    while text not in server.log_tail() and time.monotonic() < deadline:
        time.sleep(0.02)
    return server.log_tail()


def _ended(server: Server) -> int | None:
    deadline = time.monotonic() + 10
    while server.exit_status() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return server.exit_status()


def test_no_engine_is_said_in_one_line_with_a_remedy(tmp_path: Path) -> None:
    # In a process of its own: the SDK leaves the socket that found nobody to the garbage collector, with a warning.
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "clean", "--only", "engine"],
        env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ExitStatus.INFRASTRUCTURE
    assert done.stdout == ""
    assert done.stderr.startswith("cubingate: no container engine answers: ")
    assert done.stderr.count("\n") == 1
    assert "apt-get install docker.io" in done.stderr


@pytest.mark.docker
def test_facts(engine: DockerEngine) -> None:
    facts = engine.facts()
    assert facts.root.is_absolute()
    assert facts.platform in {"x86_64", "aarch64"}


@pytest.mark.docker
def test_a_base_image_keeps_its_name_and_says_its_origin(engine: DockerEngine, base: ReadyImage) -> None:
    assert engine.ensure(BOOKWORM, lambda _: None) == base
    assert base.identity.startswith("sha256:")
    assert base.origin in {ImageOrigin.PULLED, ImageOrigin.LOCAL, ImageOrigin.DEBOOTSTRAP}


@pytest.fixture
def stand_in(engine: DockerEngine, base: ReadyImage) -> Iterator[str]:
    container = engine.client.containers.create(base.reference, command=["/never"])
    try:
        repository, _, tag = STAND_IN.partition(":")
        container.commit(repository=repository, tag=tag, changes="LABEL io.cubingate.stand-in=true")
    finally:
        container.remove()
    yield STAND_IN
    engine.remove_image(STAND_IN)


@pytest.mark.docker
def test_a_stand_in_is_called_one(engine: DockerEngine, stand_in: str) -> None:
    assert engine.ensure(BaseImage("x", stand_in), lambda _: None).origin is ImageOrigin.STAND_IN


@pytest.mark.docker
def test_a_pinned_image_is_not_replaced_by_its_namesake(engine: DockerEngine, stand_in: str) -> None:
    pinned = BaseImage("x", stand_in, digest=f"sha256:{'0' * 64}")
    with pytest.raises(InfrastructureError, match="cannot be pulled"):
        engine.ensure(pinned, lambda _: None)


@pytest.mark.docker
def test_a_base_image_that_is_nowhere(engine: DockerEngine) -> None:
    with pytest.raises(
        InfrastructureError, match=r"localhost:1/none:1 is not on this engine and cannot be pulled"
    ) as no:
        engine.ensure(BaseImage("x", "localhost:1/none:1"), lambda _: None)
    assert no.value.remedy is not None
    assert "debootstrap" in no.value.remedy


@pytest.mark.docker
@pytest.mark.parametrize(("tool", "uid", "message"), [(None, 0, "no debootstrap"), ("/bin/true", 1000, "needs root")])
def test_bootstrapping_where_it_cannot_work(
    engine: DockerEngine, monkeypatch: pytest.MonkeyPatch, tool: str | None, uid: int, message: str
) -> None:
    monkeypatch.setattr("pipeline.engine.debootstrap.shutil.which", lambda _name: tool)
    monkeypatch.setattr("pipeline.engine.debootstrap.os.geteuid", lambda: uid)
    with pytest.raises(InfrastructureError, match=message):
        engine.ensure(BaseImage("x", "localhost:1/none:1", fallback=Debootstrap("nowhere")), lambda _: None)


@pytest.mark.docker
@pytest.mark.skipif(shutil.which("debootstrap") is None, reason="needs debootstrap")
def test_bootstrapping_a_suite_that_does_not_exist(engine: DockerEngine) -> None:
    with pytest.raises(InfrastructureError, match="debootstrap ended with status 1: E: No such script"):
        engine.ensure(BaseImage("x", "localhost:1/none:1", fallback=Debootstrap("nowhere")), lambda _: None)
    assert not list(Path("/var/tmp").glob("cubingate-debootstrap-*"))  # noqa: S108


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("debootstrap") is None or os.geteuid() != 0, reason="needs debootstrap and root")
def test_bootstrapping_a_suite(engine: DockerEngine) -> None:
    image = BaseImage("x", "localhost:1/none:1", fallback=Debootstrap("bookworm", ("hello",)))
    lines: list[str] = []
    ready = engine.ensure(image, lines.append)
    try:
        assert ready.reference.startswith("cubingate-local/debian:bookworm-")
        assert ready.origin is ImageOrigin.DEBOOTSTRAP
        assert any("instead" in line for line in lines)
        assert engine.client.containers.run(ready.reference, ["hello"], remove=True) == b"Hello, world!\n"
        assert engine.ensure(image, lines.append) == ready
    finally:
        engine.remove_image(ready.reference)


@pytest.mark.docker
def test_a_server_answers_and_leaves_nothing(engine: DockerEngine, launch: Launch) -> None:
    server = engine.start(launch)
    try:
        assert "ready as" in _printed(server, "ready as")
        assert server.exit_status() is None
        host, _, port = server.base_url.removeprefix("http://").partition(":")
        assert host == "127.0.0.1"
        connection = http.client.HTTPConnection(host, int(port), timeout=5)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"hello"
        connection.close()
    finally:
        left = server.stop(2)
    assert left == ()
    assert "ready as" in launch.log.read_text()
    assert engine.client.containers.list(all=True, filters={"label": f"io.cubingate.lane={launch.lane}"}) == []


@pytest.mark.docker
def test_a_server_can_do_little_else(engine: DockerEngine, launch: Launch) -> None:
    script = (
        "id -u; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; touch /x /bundle/x; echo w > /model/model.gguf;"
        "touch /tmp/ok && echo tmp is writable; cat {model}; echo; ip route 2>/dev/null; echo end"
    )
    server = engine.start(replace(launch, command=("sh", "-c", script)))
    try:
        assert _ended(server) == 0
        told = server.log_tail(100)
    finally:
        assert server.stop(1) == ()
    assert not told.startswith("0\n")
    assert "CapEff:\t0000000000000000" in told
    assert "CapBnd:\t0000000000000000" in told
    assert "NoNewPrivs:\t1" in told
    assert told.count("Read-only file system") >= 3
    assert "tmp is writable" in told
    assert "weights" in told


@pytest.mark.docker
def test_a_server_cannot_reach_the_world(engine: DockerEngine, launch: Launch) -> None:
    call = (
        'use IO::Socket::INET; print IO::Socket::INET->new(PeerAddr=>"1.1.1.1:53",Timeout=>3) ? "out\\n" : "caught\\n"'
    )
    server = engine.start(replace(launch, command=("perl", "-e", call)))
    try:
        _ended(server)
        assert server.log_tail() == "caught\n"
    finally:
        server.stop(1)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("command", "status"),
    [(("sh", "-c", "exit 3"), 3), (("sh", "-c", "kill -ABRT $$"), -6), (("/bundle/none",), 127), (("/etc",), 126)],
)
def test_how_a_server_ended(engine: DockerEngine, launch: Launch, command: tuple[str, ...], status: int) -> None:
    server = engine.start(replace(launch, command=command))
    try:
        assert _ended(server) == status
        assert status < 126 or command[0] in server.log_tail()
    finally:
        assert server.stop(1) == ()


@pytest.mark.docker
def test_a_deaf_server_is_killed_in_time(engine: DockerEngine, launch: Launch) -> None:
    server = engine.start(replace(launch, command=("sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done")))
    _printed(server, "deaf")
    started = time.monotonic()
    assert server.stop(1) == ()
    assert time.monotonic() - started < 5


@pytest.mark.docker
def test_a_gpu_that_is_not_there_is_not_the_products_fault(engine: DockerEngine, launch: Launch) -> None:
    with pytest.raises(InfrastructureError, match="cannot give a container a GPU"):
        engine.start(replace(launch, gpus=("GPU-00000000-0000-0000-0000-000000000000",)))
    assert engine.client.containers.list(all=True, filters={"label": f"io.cubingate.lane={launch.lane}"}) == []


@pytest.mark.docker
@pytest.mark.parametrize("image", [None, "cubingate-test/none:1"])
def test_a_server_without_its_image(engine: DockerEngine, launch: Launch, image: str | None) -> None:
    with pytest.raises(InfrastructureError):
        engine.start(replace(launch, image=image))


@pytest.mark.parametrize(
    ("names", "labels", "ours"),
    [
        (["cubingate-local/debian:bookworm"], {}, True),
        (["cubingate-build:0123"], {"io.cubingate.lane": "cpu"}, True),
        ([], {"io.cubingate.lane": "cpu"}, True),
        ([], {}, False),
        (["somebody/app:1"], {"io.cubingate.lane": "cpu"}, False),
        (["cubingate-local/debian:bookworm", "somebody/base:1"], {}, False),
        (["cubingate-build-mirror/x:1"], {}, False),
    ],
)
def test_which_images_are_ours_to_remove(names: list[str], labels: dict[str, str], *, ours: bool) -> None:
    assert is_our_image(names, labels) is ours


@pytest.mark.docker
def test_left_overs_of_a_lane_are_removed(engine: DockerEngine, launch: Launch) -> None:
    engine.start(launch)
    other = engine.start(replace(launch, lane=f"{launch.lane}-other"))
    try:
        (removed,) = engine.remove_everything(lane=launch.lane)
        assert removed.startswith("container cubingate-")
        assert engine.remove_everything(lane=launch.lane) == ()
        assert other.exit_status() is None
    finally:
        other.stop(1)
