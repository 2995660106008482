"""A registry's tags name bytes that were read back, whatever the network, the registry or a signal does."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import oras.schemas
import pytest
from oras.client import OrasClient

from pipeline.errors import InfrastructureError, Refused, UsageError
from pipeline.model.lane import ImageTerms
from pipeline.publishers.registry import RegistryImages
from pipeline.publishers.registry_api import Place, Repository
from pipeline.publishers.registry_auth import Credentials
from pipeline.publishers.space import check_space
from tests.publishers.registry_server import PASSWORD, USERNAME, Exchange, Front, Stranger, before, registry
from tests.publishers.release_bundles import approved_bundle, bundle_of, cpu_bundle
from tests.values import POLICY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
    named = dict(line.rsplit("@", 1) for line in place.publish(bundles).splitlines())
    stranger = Stranger(front.behind, name)
    versions = {tag: digest for tag, digest in stranger.tags().items() if tag.startswith("1.0-")}
    assert named == {f"{front.host}/{name}:{tag}": digest for tag, digest in versions.items()}, "to pull by digest"
    assert_complete(stranger, bundles)
    puts = [call.rpartition("/")[2] for call in front.calls if call.startswith("PUT") and "/manifests/" in call]
    assert [put for put in puts if put.startswith("sha256:")] == puts[:4], "by digest first"
    assert puts[4:] == ["1.0-one", "1.0-one.bundle", "1.0-two", "1.0-two.bundle", "one", "latest", "two"]
    own = stranger.manifest("1.0-one.bundle")
    assert own["artifactType"] == "application/vnd.cubingate.bundle.v1"
    assert own["layers"][0]["annotations"] == {"org.opencontainers.image.title": "one.tar.gz"}
    assert own["annotations"]["io.cubingate.release.sha256"] == bundles[0].artifact.sha256


def test_a_stranger_with_oras_gets_the_approved_file(
    front: Front, name: str, bundles: list[Approved], tmp_path: Path
) -> None:
    images(front.host, name, bundles).publish(bundles)
    client = OrasClient(hostname=front.host, insecure=True)
    (there,) = client.pull(target=f"{front.host}/{name}:1.0-two.bundle", outdir=str(tmp_path / "pulled"))
    assert Path(there).name == "two.tar.gz"
    assert Path(there).read_bytes() == bundles[1].artifact.path.read_bytes()
    for tag in ("1.0-two", "1.0-two.bundle"):
        jsonschema.validate(Stranger(front.behind, name).manifest(tag), oras.schemas.manifest)


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


def cut(exchange: Exchange) -> bool:
    exchange.cut()
    return True


def server_error(exchange: Exchange) -> bool:
    exchange.answer(503, [], b'{"errors": [{"code": "UNAVAILABLE", "message": "reg-MARKERTOKEN"}]}')
    return True


def done_but_lost(exchange: Exchange) -> bool:
    """The registry does it, and its answer never arrives."""
    exchange.asked()
    exchange.cut()
    return True


def half_answered(exchange: Exchange) -> bool:
    """The connection ends in the middle of the content."""
    status, _, content = exchange.asked()
    exchange.wfile.write(f"HTTP/1.1 {status} x\r\nContent-Length: {len(content) + 1}\r\n\r\n".encode() + content)
    exchange.wfile.flush()
    exchange.cut()
    return True


def rate_limited(exchange: Exchange) -> bool:
    exchange.answer(429, [("Retry-After", "3")], b'{"errors": [{"code": "TOOMANYREQUESTS"}]}')
    return True


def asked_to_wait_for_hours(exchange: Exchange) -> bool:
    exchange.answer(429, [("Retry-After", "7200")], b"")
    return True


def rubbish(exchange: Exchange) -> bool:
    exchange.answer(200, [], b"rubbish")
    return True


def at(victim: int, mischief: Callable[[Exchange], bool]) -> Callable[[int, Exchange], bool]:
    """Do it to one request."""
    return lambda number, exchange: number == victim and mischief(exchange)


def from_then_on(victim: int, mischief: Callable[[Exchange], bool]) -> Callable[[int, Exchange], bool]:
    """Do it to that request and all later ones."""
    return lambda number, exchange: number >= victim and mischief(exchange)


def assert_only_whole(stranger: Stranger) -> None:
    """Whatever is tagged can be pulled, and has the digests that it names."""
    for digest in set(stranger.tags().values()):
        stranger.check(digest)


def requests_of_a_publication(front: Front, name: str, bundles: Sequence[Approved]) -> int:
    images(front.host, f"{name}/counted", bundles).publish(bundles)
    return front.requests


def refused_or_cut(exchange: Exchange) -> bool:
    """One of the ways in which nothing was done, by turns."""
    return (cut, server_error, rate_limited)[exchange.front.requests % 3](exchange)


@pytest.mark.parametrize("mischief", [refused_or_cut, done_but_lost, half_answered, rubbish])
def test_any_single_request_may_fail(
    front: Front, name: str, tmp_path: Path, mischief: Callable[[Exchange], bool]
) -> None:
    """Each request in turn: all is there at once, or every tag is whole and a second attempt completes it."""
    bundles = [cpu_bundle(tmp_path, "one")]
    failed = 0
    for victim in range(1, requests_of_a_publication(front, name, bundles) + 1):
        front.requests, front.mischief = 0, at(victim, mischief)
        place = images(front.host, f"{name}/{victim}", bundles)
        stranger = Stranger(front.behind, f"{name}/{victim}")
        try:
            place.publish(bundles)
        except (InfrastructureError, UsageError):
            failed += 1
            assert_only_whole(stranger)
            front.mischief = None
            place.publish(bundles)
        assert set(stranger.tags()) == {"1.0-one", "1.0-one.bundle", "one", "latest"}
    assert victim > 15
    assert failed == 0 or mischief is rubbish, "repeating helps"


@pytest.mark.parametrize("mischief", [cut, server_error, rubbish])
def test_a_registry_that_always_fails_is_given_up(
    front: Front, name: str, bundles: list[Approved], mischief: Callable[[Exchange], bool]
) -> None:
    front.mischief = from_then_on(1, mischief)
    with pytest.raises((InfrastructureError, UsageError)):
        images(front.host, name, bundles).publish(bundles)
    assert front.requests <= 4


def test_a_rate_limit_is_waited_for_only_where_it_is_short(front: Front, name: str, bundles: list[Approved]) -> None:
    waits: list[float] = []
    front.mischief = at(1, rate_limited)
    images(front.host, name, bundles, waits=waits).publish(bundles)
    assert 3.0 in waits
    front.mischief = from_then_on(1, asked_to_wait_for_hours)
    with pytest.raises(InfrastructureError, match="rate limit"):
        images(front.host, name, bundles).preflight()


def test_a_time_to_wait_that_is_no_number_is_not_waited_for(front: Front, name: str, bundles: list[Approved]) -> None:
    def limited(_: int, exchange: Exchange) -> bool:
        exchange.answer(429, [("Retry-After", "\u00b2")], b"")
        return True

    waits: list[float] = []
    front.mischief = limited
    with pytest.raises(InfrastructureError, match="rate limit was reached"):
        images(front.host, name, bundles, waits=waits).preflight()
    assert max(waits) <= 10


@pytest.mark.parametrize("what", ["manifests/sha256:", "blobs/sha256:"])
def test_a_registry_that_hands_out_other_bytes_is_not_believed(
    front: Front, name: str, bundles: list[Approved], what: str
) -> None:
    """It says that all went well, headers with the right digest included, and hands out something of the same size."""

    def lie(_: int, exchange: Exchange) -> bool:
        if exchange.command != "GET" or what not in exchange.path:
            return False
        status, headers, content = exchange.asked()
        exchange.answer(status, headers, b"x" * len(content) if status == 200 else content)
        return True

    front.mischief = lie
    with pytest.raises(InfrastructureError, match="hand"):
        images(front.host, name, bundles).publish(bundles)
    assert Stranger(front.behind, name).tags() == {}


@pytest.mark.parametrize("verb", ["HEAD", "PUT"])
def test_a_registry_that_only_says_that_it_has_everything_is_not_believed(
    front: Front, name: str, bundles: list[Approved], verb: str
) -> None:
    def lie(_: int, exchange: Exchange) -> bool:
        if exchange.command != verb:
            return False
        exchange.answer(200 if verb == "HEAD" else 201, [], b"")
        return True

    front.mischief = lie
    with pytest.raises((InfrastructureError, UsageError)):
        images(front.host, name, bundles).publish(bundles)
    assert Stranger(front.behind, name).tags() == {}


def test_an_answer_without_an_end_is_left(front: Front, name: str, bundles: list[Approved]) -> None:
    """Where only its head matters: what is wrong with it shows when everything is read back."""

    def endless(_: int, exchange: Exchange) -> bool:
        if exchange.command != "PUT":
            return False
        exchange.asked()
        exchange.close_connection = True
        exchange.wfile.write(b"HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n")
        try:
            while True:
                exchange.wfile.write(b"x" * (1 << 16))
        except OSError:
            left.append(exchange.path)
        exchange.wfile = io.BytesIO()
        return True

    left: list[str] = []
    front.mischief = endless
    images(front.host, name, bundles).publish(bundles)
    assert_complete(Stranger(front.behind, name), bundles)
    assert len(left) > 10


def test_a_tag_that_does_not_move_is_told(front: Front, name: str, bundles: list[Approved]) -> None:
    def lie(_: int, exchange: Exchange) -> bool:
        if exchange.command != "PUT" or not exchange.path.endswith("/manifests/latest"):
            return False
        exchange.answer(201, [], b"")
        return True

    front.mischief = lie
    with pytest.raises(InfrastructureError, match="latest does not read back"):
        images(front.host, name, bundles).publish(bundles)


def test_a_bundle_that_changed_since_its_approval_is_not_sent(front: Front, name: str, bundles: list[Approved]) -> None:
    bundles[1].artifact.path.write_bytes(b"changed")
    with pytest.raises(InfrastructureError, match="no longer what the gate approved"):
        images(front.host, name, bundles).publish(bundles)
    assert front.written() == []


def test_killed_at_any_request_every_tag_is_whole_and_a_rerun_completes(
    front: Front, name: str, tmp_path: Path
) -> None:
    """Each request in turn, and both of its moments: before, and done but unanswered."""
    bundles = [cpu_bundle(tmp_path, "one")]
    kills, requests = 0, requests_of_a_publication(front, name, bundles)
    complete = Stranger(front.behind, f"{name}/counted").tags()
    for victim in range(1, requests + 1):
        for moment in ("before", "done"):
            here = f"{name}/{victim}-{moment}"
            stranger = Stranger(front.behind, here)
            front.requests = 0
            kills += _killed(front, here, bundles, victim, moment)
            assert_only_whole(stranger)
            front.mischief = None
            images(front.host, here, bundles).publish(bundles)
            assert stranger.tags() == complete
    assert kills == 2 * requests >= 50


def _killed(front: Front, name: str, bundles: list[Approved], victim: int, moment: str) -> int:
    """Publish in a process of its own, and kill it when its request ``victim`` comes to ``moment``."""
    child: list[int] = []

    def strike(number: int, exchange: Exchange) -> bool:
        if number != victim:
            return False
        if moment == "before":
            os.kill(child[0], signal.SIGKILL)
            return True
        exchange.asked()
        os.kill(child[0], signal.SIGKILL)
        exchange.close_connection = True
        return True

    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(ready, 1)
        try:
            images(front.host, name, bundles).publish(bundles)
        finally:
            os._exit(0)
    child.append(pid)
    front.mischief = strike
    os.write(go, b"x")
    _, status = os.waitpid(pid, 0)
    os.close(ready)
    os.close(go)
    return int(os.WIFSIGNALED(status))


def test_no_credentials_are_ever_said(front: Front, name: str, bundles: list[Approved]) -> None:
    said: list[str] = []
    for mischief in (cut, server_error, rubbish, rate_limited):
        for victim in range(1, 33, 4):
            front.requests, front.mischief = 0, from_then_on(victim, mischief)
            try:
                images(front.host, f"{name}/{victim}", bundles).publish(bundles)
            except (InfrastructureError, UsageError) as error:
                said.append(f"{error} {error.__cause__!r} {error.__context__!r}")
    assert len(said) > 25
    assert not [words for words in said if "MARKER" in words or "_state" in words]


def test_there_must_be_room_where_bundles_are_copied(front: Front, name: str, bundles: list[Approved]) -> None:
    place = images(front.host, name, bundles)
    check_space(place, 1)
    with pytest.raises(InfrastructureError, match="free, and the bundles need"):
        check_space(place, 1 << 60)
