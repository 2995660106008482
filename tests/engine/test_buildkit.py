"""Builds: against a real engine what works and what fails, against a fake one what breaks."""

from __future__ import annotations

import base64
import uuid
from typing import TYPE_CHECKING

import pytest

from pipeline.engine.buildkit import BuildRequest, BuildStepFailed
from pipeline.engine.context import BuildContext
from pipeline.errors import ExitStatus, InfrastructureError
from tests.engine.fake_engine import chunked, fake_engine

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.engine.base_image import ReadyImage
    from pipeline.engine.docker import DockerEngine

LANE = f"test-{uuid.uuid4().hex}"
TAG = f"cubingate-test:{LANE}"
DONE = b'{"id":"moby.image.id","aux":{"ID":"sha256:00"}}'


def _request(dockerfile: str) -> BuildRequest:
    return BuildRequest(lane=LANE, tag=TAG, context=BuildContext(dockerfile, {"private/x": b"hidden"}))


@pytest.mark.docker
def test_a_build_is_streamed_labelled_and_copied_out(engine: DockerEngine, base: ReadyImage, tmp_path: Path) -> None:
    lines: list[str] = []
    request = _request(
        f"FROM {base.reference} AS compile\n"
        "RUN --mount=type=bind,source=private,target=/run/cubingate echo one; printf two; "
        "mkdir -p /bundle/sub; cp /run/cubingate/x /bundle/sub/y; ln -s sub/y /bundle/link\n"
        "FROM scratch\nCOPY --from=compile /bundle /bundle\n"
    )
    try:
        engine.build(request, lines.append)
        engine.copy_out(TAG, "/bundle", tmp_path / "out", lane=LANE)
        labels = engine.client.images.get(TAG).labels
    finally:
        engine.remove_image(TAG)
    assert labels["io.cubingate.lane"] == LANE
    assert any("[compile" in line for line in lines)
    assert (tmp_path / "out/sub/y").read_text() == "hidden"
    assert (tmp_path / "out/link").readlink().as_posix() == "sub/y"
    assert engine.client.containers.list(all=True, filters={"label": f"io.cubingate.lane={LANE}"}) == []


@pytest.mark.docker
def test_a_failing_step_names_its_stage_and_status(engine: DockerEngine, base: ReadyImage) -> None:
    request = _request(
        f"FROM {base.reference} AS compile\nRUN echo the last words; exit 7\nFROM scratch\nCOPY --from=compile / /\n"
    )
    with pytest.raises(BuildStepFailed) as failure:
        engine.build(request, lambda _: None)
    assert (failure.value.stage, failure.value.exit_code) == ("compile", 7)
    assert failure.value.tail.endswith("the last words")


@pytest.mark.docker
def test_a_dockerfile_that_is_none(engine: DockerEngine) -> None:
    with pytest.raises(BuildStepFailed, match="unknown instruction") as failure:
        engine.build(_request("BAKE bread\n"), lambda _: None)
    assert (failure.value.stage, failure.value.exit_code) == ("", None)


def test_a_complete_build(tmp_path: Path) -> None:
    with fake_engine(tmp_path, chunked(b'{"stream":"hello\\n"}', DONE)) as (engine, requests):
        lines: list[str] = []
        engine.build(_request(""), lines.append)
    assert lines == ["hello"]
    assert requests == ["/v1.41/build"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "failed during the build of test-"),
        (chunked(b'{"stream":"hello\\n"}', complete=False), "failed during the build of test-"),
        (chunked(b'{"stream":"hello\\n"}'), "ended the build of test-[0-9a-f]+ without a result"),
        (chunked(b"\x00\x01 rubbish"), "failed during the build of test-"),
        (chunked(b'{"id":"moby.buildkit.trace","aux":"' + base64.b64encode(b"\x0b") + b'"}'), "cannot be read"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nno such", "refuses to build test-[0-9a-f]+: no such"),
    ],
    ids=["hangs up", "dies", "ends early", "rubbish", "unreadable progress", "no BuildKit"],
)
def test_an_engine_that_breaks_is_not_the_products_fault(tmp_path: Path, answer: bytes, message: str) -> None:
    with (
        fake_engine(tmp_path, answer) as (engine, _),
        pytest.raises(InfrastructureError, match=message) as failure,
    ):
        engine.build(_request(""), lambda _: None)
    assert failure.value.status is ExitStatus.INFRASTRUCTURE
    assert "\n" not in failure.value.message


def test_an_interruption_cancels_the_build_in_the_engine(tmp_path: Path) -> None:
    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with fake_engine(tmp_path, chunked(b'{"stream":"hello\\n"}', DONE)) as (engine, requests):
        with pytest.raises(KeyboardInterrupt):
            engine.build(_request(""), interrupt)
        assert requests == ["/v1.41/build", "/v1.41/build/cancel"]
