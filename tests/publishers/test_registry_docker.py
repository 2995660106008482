"""What a real engine pulls: the approved digest, on its base, a server that runs, a floor that the audit shares."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests

from pipeline.errors import UsageError
from pipeline.model.lane import BaseImage, ImageTerms
from pipeline.model.target import Platform
from pipeline.publishers.oci_base import place_of, read_base
from pipeline.publishers.registry import RegistryImages
from pipeline.publishers.registry_api import Place, Repository
from tests.fixture_server.builder import NAME, static_cpu_server
from tests.formats.artifacts import Library, link
from tests.publishers.registry_server import Stranger, before, registry
from tests.publishers.release_bundles import approved_bundle, packed
from tests.toolchain import cubin_image, nvfatbin
from tests.values import POLICY, cuda_lane

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.gate import Approved

pytestmark = pytest.mark.docker
ROOT = Path(__file__).resolve().parents[2]
FLOOR_OF_THE_BASE = "cuda>=12.8"


@dataclass(frozen=True, slots=True)
class Hosted:
    """A registry with a base image that a real engine pushed, which asks for more than the bundle does."""

    host: str
    base: BaseImage


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    folder = tmp_path_factory.mktemp("hosted")
    (folder / "Dockerfile").write_text(
        "FROM scratch\nCOPY Dockerfile /etc/one\nCOPY Dockerfile /etc/two\n"
        f"ENV NVIDIA_REQUIRE_CUDA={FLOOR_OF_THE_BASE} CUDA_VERSION=12.8.1 KEPT=yes\n"
        'LABEL org.opencontainers.image.title=base other=kept\nCMD ["bash"]\n'
    )
    with registry(folder) as host:
        reference = f"{host}/base/slim:1"
        docker("build", "-q", "-t", reference, str(folder))
        try:
            docker("push", "-q", reference)
            digests = json.loads(docker("inspect", "--format", "{{json .RepoDigests}}", reference))
            (digest,) = (each.partition("@")[2] for each in digests if each.startswith(host))
            yield Hosted(host, BaseImage("slim", reference, digest))
        finally:
            docker("rmi", "-f", reference)


@pytest.fixture
def item(tmp_path: Path) -> Approved:
    """A CUDA lane's bundle whose server runs anywhere, with a library for sm_80."""
    library = link(Library(fatbins=(nvfatbin("12.8", [cubin_image("12.8", "scale", "80")], mode="none"),)))
    lane = cuda_lane(id="cuda", required=("audit",))
    lane = replace(lane, smoke=replace(lane.smoke, command=(f"bin/{NAME}", "--port", "{port}")))
    files = {f"server-1.0/bin/{NAME}": static_cpu_server().read_bytes(), "server-1.0/lib/libk.so": library}
    targets = [{"sm": "80", "driver": "535.288.01", "minimum_driver": "525.60.13"}]
    return approved_bundle(lane, packed(tmp_path / "cuda.tar.gz", files), targets=targets)


def images(host: str, name: str, item: Approved, base_image: BaseImage | None) -> RegistryImages:
    target = Repository(Place(host, name), None, sleep=lambda _: None)
    source = Repository(place_of(base_image.reference), None, sleep=lambda _: None) if base_image else None
    terms = ImageTerms(base=base_image, tags=("latest",))
    return RegistryImages(target, source, terms, (item.verdict.lane,), POLICY)


def test_a_stranger_pulls_the_approved_digest_and_runs_it(hosted: Hosted, item: Approved) -> None:
    with before(hosted.host) as front:
        place = images(front.host, "acme/pulled", item, replace(hosted.base, reference=f"{front.host}/base/slim:1"))
        place.preflight()
        place.publish([item])
        of_the_base = [call for call in front.calls if call.startswith("GET /v2/base/slim/blobs/")]
        assert len(of_the_base) == 2, "its configuration, twice: layers are mounted"
    stranger = Stranger(hosted.host, "acme/pulled")
    digest = stranger.tags()["latest"]
    with pulled(f"{hosted.host}/acme/pulled:latest") as reference:
        told = json.loads(docker("inspect", reference))[0]
        assert told["RepoDigests"] == [f"{hosted.host}/acme/pulled@{digest}"]
        layers = stranger.manifest("latest")["layers"]
        assert layers[-1]["digest"] == f"sha256:{item.artifact.sha256}"
        assert len(told["RootFS"]["Layers"]) == len(layers) == 3
        settings = told["Config"]
        assert settings["Labels"]["org.opencontainers.image.title"] == "server"
        assert settings["Labels"]["org.opencontainers.image.base.digest"] == hosted.base.digest
        assert (settings["Labels"]["other"], settings["Cmd"]) == ("kept", None)
        assert set(settings["Env"]) >= {"KEPT=yes", "NVIDIA_REQUIRE_CUDA=cuda>=12.0"}
        with running(reference, "--host", "0.0.0.0", "--port", "8080") as address:  # noqa: S104 -- inside the container
            assert answers(f"{address}/health")


def test_an_image_of_the_bundle_alone_runs_too(hosted: Hosted, item: Approved) -> None:
    images(hosted.host, "acme/alone", item, None).publish([item])
    with (
        pulled(f"{hosted.host}/acme/alone:1.0-cuda") as reference,
        running(reference, "--host", "0.0.0.0", "--port", "8080") as address,  # noqa: S104 -- inside the container
    ):
        assert answers(f"{address}/health")


def test_a_base_in_another_registry_is_brought_over(hosted: Hosted, item: Approved, tmp_path: Path) -> None:
    with registry(tmp_path) as other:
        images(other, "acme/brought", item, hosted.base).publish([item])
        here = Stranger(other, "acme/brought")
        here.check("latest")
        images(hosted.host, "acme/mounted", item, hosted.base).publish([item])
        assert here.tags() == Stranger(hosted.host, "acme/mounted").tags(), "wherever the base lies"


def test_the_audit_of_the_pulled_image_agrees_and_its_twin_fails(hosted: Hosted, item: Approved) -> None:
    """The twin has what the base asks for, as a build on it would have kept it."""
    images(hosted.host, "acme/audited", item, hosted.base).publish([item])
    with pulled(f"{hosted.host}/acme/audited:latest") as reference:
        assert require_cuda(reference) == ("pass", [])
        twin = "cubingate-test/require:twin"
        built = f"FROM {reference}\nENV NVIDIA_REQUIRE_CUDA={FLOOR_OF_THE_BASE}\n"
        docker("build", "-q", "-t", twin, "-", given=built)
        try:
            status, observed = require_cuda(twin)
        finally:
            docker("rmi", "-f", twin)
    assert status == "fail"
    assert "cuda>=12.8 is not met by a driver of CUDA 12.2" in observed[0]


def test_a_base_for_another_platform_or_none_is_told(hosted: Hosted, tmp_path: Path) -> None:
    repository = Repository(place_of(hosted.base.reference), None, sleep=lambda _: None)
    with pytest.raises(UsageError, match="not for aarch64"):
        read_base(repository, hosted.base, Platform.AARCH64, tmp_path)
    with pytest.raises(UsageError, match="there is no"):
        read_base(repository, replace(hosted.base, digest="sha256:" + "0" * 64), Platform.X86_64, tmp_path)


def require_cuda(reference: str) -> tuple[str, list[str]]:
    """What ``cubingate audit`` says of the image's floor."""
    command = [sys.executable, "-m", "pipeline", "audit", f"docker://{reference}"]
    command += ["--target", "80@535.288.01", "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    report: dict[str, Any] = json.loads(done.stdout)
    (outcome,) = (row for row in report["outcomes"] if row["rule"] == "require-cuda")
    return outcome["status"], [row["observed"] for row in report["findings"] if row["rule"] == "require-cuda"]


@contextmanager
def pulled(reference: str) -> Iterator[str]:
    docker("pull", "-q", reference)
    try:
        yield reference
    finally:
        docker("rmi", "-f", reference)


@contextmanager
def running(reference: str, *arguments: str) -> Iterator[str]:
    """A container of the image with its own entrypoint; where it is heard."""
    container = docker("run", "-d", "--rm", "-p", "127.0.0.1::8080", "--read-only", reference, *arguments).strip()
    try:
        yield f"http://{docker('port', container, '8080').split()[0]}"
    finally:
        docker("rm", "-f", container)


def answers(address: str) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            return requests.get(address, timeout=2).status_code == 200
        except requests.RequestException:
            time.sleep(0.1)
    return False


def docker(*arguments: str, given: str | None = None) -> str:
    done = subprocess.run(["docker", *arguments], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
