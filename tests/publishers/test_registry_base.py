"""The base is the pinned one for the lane's platform, and what is none is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import CorruptInput, InfrastructureError, UsageError
from pipeline.model.lane import BaseImage, ImageTerms, Publisher
from pipeline.model.target import Platform
from pipeline.publishers.destination import destination
from pipeline.publishers.oci import CONFIG, LAYER_GZIP, LAYER_TAR, MANIFEST, Blob, written
from pipeline.publishers.oci_base import read_base
from pipeline.publishers.registry import RegistryImages
from pipeline.publishers.registry_api import Place, Repository
from tests.publishers.registry_server import before, registry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
X86, ARM = Platform.X86_64, Platform.AARCH64


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    with registry(tmp_path_factory.mktemp("registry")) as host:
        yield Repository(Place(host, "base/slim"), None, sleep=lambda _: None)


def descriptor(blob: Blob, **more: Any) -> dict[str, Any]:
    return {"mediaType": blob.media_type, "digest": blob.digest, "size": blob.size, **more}


def pushed(repository: Repository, content: dict[str, Any]) -> Blob:
    """A manifest or an index, kept by its digest."""
    blob = Blob.of(content["mediaType"], written({"schemaVersion": 2, **content}))
    repository.put_manifest(blob.digest, written({"schemaVersion": 2, **content}), blob.media_type)
    return blob


def image(repository: Repository, machine: str, *, diff_ids: int = 1, media_type: str = LAYER_TAR) -> Blob:
    layer = Blob.of(media_type, f"a layer for {machine}".encode())
    rootfs = {"type": "layers", "diff_ids": [layer.digest] * diff_ids}
    config = Blob.of(CONFIG, written({"os": "linux", "architecture": machine, "rootfs": rootfs}))
    for blob in (layer, config):
        repository.send(blob)
    return pushed(repository, {"mediaType": MANIFEST, "config": descriptor(config), "layers": [descriptor(layer)]})


def pinned(blob: Blob) -> BaseImage:
    return BaseImage("slim", "registry.example.org/base/slim:1", blob.digest)


def test_an_index_has_the_platform_s_image(repository: Repository, tmp_path: Path) -> None:
    rows = [
        descriptor(image(repository, machine), platform={"os": "linux", "architecture": machine})
        for machine in ("arm64", "amd64")
    ]
    statement = {"vnd.docker.reference.type": "attestation-manifest"}
    rows.insert(0, {**rows[1], "annotations": statement, "platform": {"os": "unknown", "architecture": "unknown"}})
    index = pinned(pushed(repository, {"mediaType": INDEX, "manifests": rows}))
    assert [read_base(repository, index, each, tmp_path).config["architecture"] for each in (X86, ARM)] == [
        "amd64",
        "arm64",
    ]


def test_an_index_without_the_platform_is_told(repository: Repository, tmp_path: Path) -> None:
    row = descriptor(image(repository, "arm64"), platform={"os": "linux", "architecture": "arm64"})
    index = pinned(pushed(repository, {"mediaType": INDEX, "manifests": [row]}))
    with pytest.raises(UsageError, match="has no image for x86_64"):
        read_base(repository, index, X86, tmp_path)


def test_docker_s_layers_get_their_oci_names(repository: Repository, tmp_path: Path) -> None:
    base = read_base(repository, pinned(image(repository, "amd64", media_type=DOCKER_LAYER)), X86, tmp_path)
    assert [layer.media_type for layer in base.layers] == [LAYER_GZIP]


def test_what_is_no_image_is_told(repository: Repository, tmp_path: Path) -> None:
    config = Blob.of("application/vnd.oci.empty.v1+json", b"{}")
    repository.send(config)
    empty = pushed(repository, {"mediaType": MANIFEST, "config": descriptor(config), "layers": []})
    for blob in (empty, image(repository, "amd64", diff_ids=2)):
        with pytest.raises(CorruptInput, match="is not an image"):
            read_base(repository, pinned(blob), X86, tmp_path)


def test_a_base_whose_history_is_none_is_no_image(repository: Repository, tmp_path: Path) -> None:
    config = Blob.of(
        CONFIG, written({"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": []}, "history": 5})
    )
    repository.send(config)
    base = pushed(repository, {"mediaType": MANIFEST, "config": descriptor(config), "layers": []})
    with pytest.raises(CorruptInput, match="history"):
        read_base(repository, pinned(base), X86, tmp_path)


def test_other_bytes_behind_the_pinned_digest_are_not_taken(repository: Repository, tmp_path: Path) -> None:
    base = pinned(image(repository, "amd64"))
    with before(repository.place.host) as front:

        def lie(_: int, exchange: Any) -> bool:
            status, headers, content = exchange.asked()
            exchange.answer(status, headers, content.replace(b"linux", b"minix").replace(b"layers", b"lairs!"))
            return True

        front.mischief = lie
        liar = Repository(Place(front.host, "base/slim"), None, sleep=lambda _: None)
        with pytest.raises(InfrastructureError, match="other bytes"):
            read_base(liar, base, X86, tmp_path)


def test_where_a_base_is_asked_for_and_as_whom() -> None:
    base = BaseImage("slim", "debian:bookworm-slim", "sha256:" + "0" * 64)
    secrets = {"REGISTRY_USERNAME": "u", "REGISTRY_PASSWORD": "p"}

    def place(location: str, **more: Any) -> RegistryImages:
        terms = ImageTerms(base=base, **more)
        found = destination(Publisher("i", "registry", location, partial=False, image=terms), secrets)
        assert isinstance(found, RegistryImages)
        assert found.base is not None
        return found

    elsewhere = place("example.org:5000/acme/server", insecure=True)
    assert elsewhere.base is not None
    assert elsewhere.target.place == Place("example.org:5000", "acme/server", plain=True)
    assert elsewhere.base.place == Place("registry-1.docker.io", "library/debian")
    assert elsewhere.base._authorization._credentials is None
    hub = place("docker.io/acme/server")
    assert hub.target.place == Place("registry-1.docker.io", "acme/server")
    assert hub.target._authorization._scopes == ("repository:acme/server:pull,push", "repository:library/debian:pull")
    assert hub.base is not None
    assert hub.base._authorization._credentials is not None
