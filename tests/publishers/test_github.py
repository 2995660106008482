"""A release on GitHub is complete or not there, whatever the network, the server or a signal does."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import InfrastructureError, Refused, UsageError
from pipeline.publishers.github import GithubReleases
from pipeline.publishers.github_api import Github
from pipeline.publishers.staging import LISTS
from tests.publishers.github_server import SIGNED, TOKEN, Exchange, Hub, StoredAsset, StoredRelease, serving
from tests.publishers.test_directory import approved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pipeline.gate import Approved
    from pipeline.publishers.github_api import Release

TAG = "v1.0"
FILES = {*LISTS, "one.tar.gz", "two.tar.gz"}


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving(Hub()) as serving_hub:
        yield serving_hub


@pytest.fixture
def bundles(tmp_path: Path) -> list[Approved]:
    return [approved(tmp_path, "one"), approved(tmp_path, "two", b"other bytes" * 1000)]


def releases(hub: Hub, *, token: str = TOKEN, waits: list[float] | None = None) -> GithubReleases:
    sleep = (lambda _: None) if waits is None else waits.append
    return GithubReleases(Github(hub.api, hub.repository, token, sleep=sleep), TAG, None)


def digests(bundles: Sequence[Approved]) -> dict[str, str]:
    return {item.artifact.path.name: item.artifact.sha256 for item in bundles}


def assert_complete(hub: Hub, bundles: Sequence[Approved]) -> None:
    files = hub.public()[TAG]
    assert set(files) == FILES
    assert digests(bundles).items() <= files.items()
    assert len([release for release in hub.releases if release.draft]) == 0


def test_a_draft_is_filled_read_back_and_made_public_last(hub: Hub, bundles: list[Approved]) -> None:
    place = releases(hub)
    place.preflight()
    assert place.publish(bundles).endswith(f"/acme/server/releases/tag/{TAG}")
    assert_complete(hub, bundles)
    (notes,) = (asset.content.decode() for asset in hub.releases[0].assets if asset.name == "COMPATIBILITY.md")
    assert hub.releases[0].body == notes
    assert notes.count(".tar.gz |") == 2
    verbs = [call.split()[0] for call in hub.calls]
    assert verbs.index("PATCH") == len(verbs) - 1, "what is public was read back before"
    assert sum(call.startswith("GET /signed/") for call in hub.calls) == len(FILES)


def test_the_published_sums_are_those_of_the_files(hub: Hub, bundles: list[Approved]) -> None:
    releases(hub).publish(bundles)
    (sums,) = (asset.content.decode() for asset in hub.releases[0].assets if asset.name == "SHA256SUMS")
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in sums.splitlines())}
    assert listed == {name: digest for name, digest in hub.public()[TAG].items() if name != "SHA256SUMS"}


def test_publishing_again_changes_nothing(hub: Hub, bundles: list[Approved]) -> None:
    releases(hub).publish(bundles)
    hub.calls.clear()
    releases(hub).publish(bundles)
    assert {call.split()[0] for call in hub.calls} == {"GET"}


def test_a_public_release_with_other_files_is_never_changed(hub: Hub, bundles: list[Approved], tmp_path: Path) -> None:
    releases(hub).publish(bundles)
    before = hub.public()
    (tmp_path / "again").mkdir()
    with pytest.raises(UsageError, match="never changed"):
        releases(hub).publish([approved(tmp_path / "again", "one", b"changed"), bundles[1]])
    with pytest.raises(UsageError, match="never changed"):
        releases(hub).publish(bundles[:1])
    assert hub.public() == before
    assert "DELETE" not in {call.split()[0] for call in hub.calls}


def test_a_draft_of_somebody_else_is_left_alone(hub: Hub, bundles: list[Approved]) -> None:
    hub.releases.append(StoredRelease(1, TAG, "our notes", assets=[StoredAsset(2, "one.tar.gz", b"theirs")]))
    for step in (releases(hub).preflight, lambda: releases(hub).publish(bundles)):
        with pytest.raises(UsageError, match="did not make"):
            step()
    assert hub.releases[0].assets[0].content == b"theirs"
    assert hub.public() == {}


def test_nothing_approved_is_no_release(hub: Hub) -> None:
    with pytest.raises(Refused):
        releases(hub).publish([])
    assert hub.releases == []


@pytest.mark.parametrize("push", [True, False])
def test_a_token_that_may_not_write_is_found_before_anything_is_built(hub: Hub, push: bool) -> None:
    hub.push = push
    if push:
        releases(hub).preflight()
    else:
        with pytest.raises(UsageError, match="may not write"):
            releases(hub).preflight()


def test_an_expired_token_is_named_and_not_repeated(hub: Hub) -> None:
    with pytest.raises(UsageError, match="401") as caught:
        releases(hub, token="expired-secret").preflight()
    assert "expired-secret" not in str(caught.value)
    assert hub.requests == 1


def requests_of_a_release(bundles: Sequence[Approved]) -> int:
    with serving(Hub()) as hub:
        releases(hub).publish(bundles)
        return hub.requests


def cut(exchange: Exchange) -> bool:
    exchange.cut()
    return True


def server_error(exchange: Exchange) -> bool:
    exchange.answer(502, {"message": "Server Error"})
    return True


def done_but_lost(exchange: Exchange) -> bool:
    """The server does it, and its answer never arrives."""
    exchange.answer = lambda *_, **__: exchange.cut()  # type: ignore[method-assign]
    exchange.route()
    return True


def rate_limited(exchange: Exchange) -> bool:
    exchange.answer(403, {"message": "API rate limit exceeded"}, Retry_After="3")
    return True


def asked_to_wait_for_hours(exchange: Exchange) -> bool:
    exchange.answer(429, {"message": "slow down"}, Retry_After="7200")
    return True


def rubbish(exchange: Exchange) -> bool:
    exchange.answer(200, "rubbish")
    return True


def at(victim: int, mischief: Callable[[Exchange], bool]) -> Callable[[int, Exchange], bool]:
    """Do it to one request."""
    return lambda number, exchange: number == victim and mischief(exchange)


def from_then_on(victim: int, mischief: Callable[[Exchange], bool]) -> Callable[[int, Exchange], bool]:
    """Do it to that request and all later ones."""
    return lambda number, exchange: number >= victim and mischief(exchange)


def to_verb(verb: str, mischief: Callable[[Exchange], bool]) -> Callable[[int, Exchange], bool]:
    """Do it to every request with this verb."""
    return lambda _, exchange: exchange.command == verb and mischief(exchange)


@pytest.mark.parametrize("mischief", [cut, server_error, done_but_lost, rate_limited, rubbish])
def test_any_single_request_may_fail(tmp_path: Path, mischief: Callable[[Exchange], bool]) -> None:
    """Each request in turn: the release is complete at once, or nothing is public and a second attempt completes it."""
    bundles = [approved(tmp_path, "one"), approved(tmp_path, "two", b"other")]
    failed = 0
    for victim in range(1, requests_of_a_release(bundles) + 1):
        with serving(Hub()) as hub:
            hub.mischief = at(victim, mischief)
            try:
                releases(hub).publish(bundles)
            except (InfrastructureError, UsageError):
                failed += 1
                assert hub.public() == {} or set(hub.public()[TAG]) == FILES
                hub.mischief = None
                releases(hub).publish(bundles)
            assert_complete(hub, bundles)
    assert failed < victim or mischief is rubbish, "repeating helps at least once"


@pytest.mark.parametrize("mischief", [cut, server_error, rubbish])
def test_a_server_that_always_fails_is_given_up(
    hub: Hub, bundles: list[Approved], mischief: Callable[[Exchange], bool]
) -> None:
    hub.mischief = from_then_on(1, mischief)
    with pytest.raises(InfrastructureError):
        releases(hub).publish(bundles)
    assert hub.requests <= 4


def test_a_rate_limit_is_waited_for_only_where_it_is_short(hub: Hub, bundles: list[Approved]) -> None:
    waits: list[float] = []
    hub.mischief = at(1, rate_limited)
    releases(hub, waits=waits).publish(bundles)
    assert 3.0 in waits
    hub.mischief = from_then_on(1, asked_to_wait_for_hours)
    with pytest.raises(InfrastructureError, match="rate limit"):
        releases(hub).preflight()


@pytest.mark.parametrize("kept", [0, 4])
def test_an_upload_that_arrives_truncated_is_sent_again(hub: Hub, bundles: list[Approved], kept: int) -> None:
    def truncate(number: int, exchange: Exchange) -> bool:
        if "/assets?name=one" in exchange.path and not seen:
            seen.append(number)
            exchange.content = exchange.body()[:kept]
        return False

    seen: list[int] = []
    hub.mischief = truncate
    with pytest.raises(InfrastructureError, match="does not read back"):
        releases(hub).publish(bundles)
    assert hub.public() == {}
    releases(hub).publish(bundles)
    assert_complete(hub, bundles)


def test_what_an_interrupted_upload_left_is_replaced(hub: Hub, bundles: list[Approved]) -> None:
    hub.mischief = to_verb("PATCH", cut)
    with pytest.raises(InfrastructureError):
        releases(hub).publish(bundles)
    hub.mischief = None
    hub.releases[0].assets[0].state = "starter"
    hub.releases[0].assets[1].content += b"!"
    hub.releases[0].assets.append(StoredAsset(999, "foreign.txt", b"?"))
    releases(hub).publish(bundles)
    assert_complete(hub, bundles)


def test_a_server_that_lies_about_digests_is_not_believed(hub: Hub, bundles: list[Approved]) -> None:
    """It lists what was sent, and hands out something else of the same size."""

    def lie(_: int, exchange: Exchange) -> bool:
        if not exchange.path.startswith("/signed/"):
            return False
        asset = hub.asset(exchange.path.partition("?")[0].rpartition("/")[2])
        exchange.send_response(200)
        exchange.send_header("Content-Length", str(len(asset.content)))
        exchange.end_headers()
        exchange.wfile.write(b"x" * len(asset.content))
        return True

    hub.mischief = lie
    with pytest.raises(InfrastructureError, match="does not read back"):
        releases(hub).publish(bundles)
    assert hub.public() == {}


def test_a_draft_that_became_public_meanwhile_loses_nothing(hub: Hub, bundles: list[Approved], tmp_path: Path) -> None:
    """Another publication of other bytes wins between our listing and our deleting."""
    (tmp_path / "ours").mkdir()
    ours = [approved(tmp_path / "ours", "one", b"ours"), bundles[1]]
    hub.mischief = to_verb("PATCH", cut)
    with pytest.raises(InfrastructureError):
        releases(hub).publish(bundles)

    def overtake(_: int, exchange: Exchange) -> bool:
        if exchange.path.startswith("/signed/"):
            hub.releases[0].draft = False
        return False

    hub.mischief = overtake
    with pytest.raises(UsageError, match="another publication"):
        releases(hub).publish(ours)
    assert digests(bundles).items() <= hub.public()[TAG].items()


def test_two_publications_of_the_same_bytes_make_one_release(hub: Hub, bundles: list[Approved]) -> None:
    """One overtakes the other before each of its requests in turn, and both are told that it is published."""
    for victim in range(1, requests_of_a_release(bundles) + 1):
        hub.releases.clear()
        hub.requests = 0

        def overtaken(number: int, _: Exchange, victim: int = victim) -> bool:
            if number == victim:
                hub.mischief = None
                releases(hub).publish(bundles)
            return False

        hub.mischief = overtaken
        releases(hub).publish(bundles)
        assert len([release for release in hub.releases if not release.draft]) == 1, victim
        assert digests(bundles).items() <= hub.public()[TAG].items()


def test_killed_at_any_request_nothing_half_is_public_and_a_rerun_completes(tmp_path: Path) -> None:
    """Each request in turn, and each of four moments in it: before, done but unanswered, half answered, answered."""
    bundles = [approved(tmp_path, f"lane{number}", b"bytes" * 1000 * number) for number in range(14)]
    names = {item.artifact.path.name for item in bundles} | LISTS
    kills = 0
    for victim in range(1, requests_of_a_release(bundles) + 1):
        for moment in ("before", "done", "half", "after"):
            with serving(Hub()) as hub:
                kills += _killed(hub, bundles, victim, moment)
                assert hub.public() == {} or set(hub.public()[TAG]) == names
                hub.mischief = None
                releases(hub).publish(bundles)
                assert set(hub.public()[TAG]) == names
                assert digests(bundles).items() <= hub.public()[TAG].items()
    assert kills >= 200


def _killed(hub: Hub, bundles: list[Approved], victim: int, moment: str) -> int:
    """Publish in a process of its own, and kill it when its request ``victim`` comes to ``moment``."""
    child: list[int] = []

    def strike(number: int, exchange: Exchange) -> bool:
        if number != victim:
            return False
        if moment == "before":
            os.kill(child[0], signal.SIGKILL)
            return True
        answer = exchange.answer
        if moment != "after":
            exchange.answer = lambda *_, **__: exchange.wfile.write(b"HTTP/1.1 200" if moment == "half" else b"")  # type: ignore[method-assign,assignment]
        exchange.route() if not exchange.path.startswith("/signed/") else None
        exchange.answer = answer  # type: ignore[method-assign]
        exchange.wfile.flush()
        os.kill(child[0], signal.SIGKILL)
        return True

    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(ready, 1)
        try:
            releases(hub).publish(bundles)
        finally:
            os._exit(0)
    child.append(pid)
    hub.mischief = strike
    os.write(go, b"x")
    _, status = os.waitpid(pid, 0)
    os.close(ready)
    os.close(go)
    return int(os.WIFSIGNALED(status))


def test_no_token_and_no_signed_address_is_ever_said(hub: Hub, bundles: list[Approved]) -> None:
    said: list[str] = []
    for mischief in (cut, server_error, rubbish, rate_limited):
        for victim in range(1, 30):
            hub.releases.clear()
            hub.requests = 0
            hub.mischief = from_then_on(victim, mischief)
            try:
                releases(hub).publish(bundles)
            except (InfrastructureError, UsageError) as error:
                said.append(f"{error} {error.__cause__!r} {error.__context__!r}")
    assert len(said) > 50
    for marker in (TOKEN, SIGNED, "MARKER"):
        assert not [words for words in said if marker in words]


def test_where_it_was_published_is_said_on_one_line(
    hub: Hub, bundles: list[Approved], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = releases(hub)
    public = place.github.public_release

    def told(tag: str) -> Release | None:
        found = public(tag)
        return None if found is None else replace(found, html_url="https://u:MARKER@example.org/v1\n\x1b[31m?MARKER")

    place.publish(bundles)
    monkeypatch.setattr(place.github, "public_release", told)
    assert place.publish(bundles) == r"https://example.org/v1\n\x1b[31m"


def test_a_stranger_downloads_and_checks(hub: Hub, bundles: list[Approved], tmp_path: Path) -> None:
    """``sha256sum -c`` over what the release holds."""
    import subprocess

    releases(hub).publish(bundles)
    there = tmp_path / "there"
    there.mkdir()
    for asset in hub.releases[0].assets:
        (there / asset.name).write_bytes(asset.content)
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=there, check=True, capture_output=True)
    compat: dict[str, Any] = json.loads((there / "compat.json").read_text())
    assert {asset["sha256"] for asset in compat["assets"]} == set(digests(bundles).values())
    assert hashlib.sha256((there / "one.tar.gz").read_bytes()).hexdigest() == bundles[0].artifact.sha256
