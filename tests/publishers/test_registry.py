"""A registry's tags name bytes that were read back, whatever the network, the registry or a signal does."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import Refused, UsageError
from pipeline.model.lane import ImageTerms
from pipeline.publishers.registry import RegistryImages
from pipeline.publishers.registry_api import Place, Repository
from pipeline.publishers.registry_auth import Credentials
from tests.publishers.registry_server import PASSWORD, USERNAME, Front, Stranger, before, registry
from tests.publishers.release_bundles import approved_bundle, bundle_of, cpu_bundle
from tests.values import POLICY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pipeline.gate import Approved

TAGS = ImageTerms(tags=("{lane}", "latest"), lead="one")
NAMES = {"1.0-one", "1.0-one.bundle", "one", "latest", "1.0-two", "1.0-two.bundle", "two"}
CREDENTIALS = Credentials(USERNAME, PASSWORD)


@pytest.fixture(scope="module")
def open_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry that asks nobody who they are."""
    with registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture
def front(open_registry: str) -> Iterator[Front]:
    with before(open_registry) as standing:
        yield standing


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A repository of its own for each test."""
    return f"acme/{hashlib.sha256(request.node.name.encode()).hexdigest()[:16]}"


@pytest.fixture
def bundles(tmp_path: Path) -> list[Approved]:
    return [cpu_bundle(tmp_path, "one"), cpu_bundle(tmp_path, "two", b"other bytes" * 1000)]


def images(
    host: str, name: str, bundles: Sequence[Approved], terms: ImageTerms = TAGS, *, waits: list[float] | None = None
) -> RegistryImages:
    sleep = (lambda _: None) if waits is None else waits.append
    target = Repository(Place(host, name), CREDENTIALS, f"repository:{name}:pull,push", sleep=sleep)
    return RegistryImages(target, None, terms, tuple(item.verdict.lane for item in bundles), POLICY)


def assert_complete(stranger: Stranger, bundles: Sequence[Approved]) -> None:
    """Every tag is there; artifact and image both have the approved file as their layer."""
    tags = stranger.tags()
    assert set(tags) == NAMES
    assert tags["1.0-one"] == tags["one"] == tags["latest"]
    for item in bundles:
        lane = item.verdict.lane.id
        for tag in (f"1.0-{lane}", f"1.0-{lane}.bundle"):
            (layer,) = stranger.check(tag)["layers"]
            assert layer["digest"] == f"sha256:{item.artifact.sha256}"


def test_bundles_are_artifacts_and_images_by_digest_and_tagged_last(
    front: Front, name: str, bundles: list[Approved]
) -> None:
    place = images(front.host, name, bundles)
    place.preflight()
    assert place.publish(bundles) == f"{front.host}/{name}"
    stranger = Stranger(front.behind, name)
    assert_complete(stranger, bundles)
    puts = [call.rpartition("/")[2] for call in front.calls if call.startswith("PUT") and "/manifests/" in call]
    assert [put for put in puts if put.startswith("sha256:")] == puts[:4], "by digest first"
    assert puts[4:] == ["1.0-one", "1.0-one.bundle", "1.0-two", "1.0-two.bundle", "one", "latest", "two"]
    own = stranger.manifest("1.0-one.bundle")
    assert own["artifactType"] == "application/vnd.cubingate.bundle.v1"
    assert own["layers"][0]["annotations"] == {"org.opencontainers.image.title": "one.tar.gz"}
    assert own["annotations"]["io.cubingate.release.sha256"] == bundles[0].artifact.sha256


def test_publishing_again_changes_nothing(front: Front, name: str, bundles: list[Approved]) -> None:
    images(front.host, name, bundles).publish(bundles)
    front.calls.clear()
    images(front.host, name, bundles).publish(bundles)
    assert front.written() == []


def test_the_same_bundles_have_the_same_digests_anywhere(
    front: Front, name: str, bundles: list[Approved], open_registry: str
) -> None:
    images(front.host, name, bundles).publish(bundles)
    images(open_registry, f"{name}/again", bundles).publish(bundles)
    assert Stranger(open_registry, name).tags() == Stranger(open_registry, f"{name}/again").tags()


def test_a_version_that_is_there_with_other_bytes_is_never_changed(
    front: Front, name: str, bundles: list[Approved], tmp_path: Path
) -> None:
    images(front.host, name, bundles).publish(bundles)
    there = Stranger(front.behind, name).tags()
    front.calls.clear()
    (tmp_path / "again").mkdir()
    changed = [bundles[0], cpu_bundle(tmp_path / "again", "two", b"changed")]
    with pytest.raises(UsageError, match=r"1\.0-two is there with other bytes"):
        images(front.host, name, changed).publish(changed)
    assert front.written() == []
    assert Stranger(front.behind, name).tags() == there


def test_a_version_of_somebody_else_is_found_before_anything_is_built(
    front: Front, name: str, bundles: list[Approved]
) -> None:
    theirs = images(front.host, name, bundles).target
    packed = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []})
    theirs.put_manifest("1.0-two", packed.encode(), "application/vnd.oci.image.index.v1+json")
    with pytest.raises(UsageError, match="cubingate did not push"):
        images(front.host, name, bundles).preflight()


def test_moving_tags_move_and_versions_stay(front: Front, name: str, tmp_path: Path) -> None:
    old = [cpu_bundle(tmp_path, "one")]
    images(front.host, name, old).publish(old)
    stranger = Stranger(front.behind, name)
    before_that = stranger.tags()
    lane = replace(old[0].verdict.lane, bundle=replace(old[0].verdict.lane.bundle, version="1.1"))
    (tmp_path / "new").mkdir()
    new = [approved_bundle(lane, bundle_of(tmp_path / "new", lane, b"newer"))]
    images(front.host, name, new).publish(new)
    tags = stranger.tags()
    assert tags["latest"] == tags["one"] == tags["1.1-one"] != tags["1.0-one"]
    assert tags["1.0-one"] == before_that["1.0-one"]


def test_what_is_published_of_several_lanes_moves_no_tag_of_the_others(
    front: Front, name: str, bundles: list[Approved]
) -> None:
    images(front.host, name, bundles).publish(bundles[1:])
    assert set(Stranger(front.behind, name).tags()) == {"1.0-two", "1.0-two.bundle", "two"}


def test_nothing_approved_is_no_release(front: Front, name: str) -> None:
    with pytest.raises(Refused):
        images(front.host, name, []).publish([])
    assert front.calls == []
