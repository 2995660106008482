"""A private release is read with a token that nobody but the API's own address ever sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError, NothingExamined, UsageError
from pipeline.publishers.private_release import PrivateReleases
from tests.publishers.github_server import TOKEN, Exchange, Hub, StoredAsset, StoredRelease, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
VECTORS = json.loads((ROOT / "tests" / "data" / "pick" / "vectors.json").read_text(encoding="utf-8"))
COMPAT = json.dumps(VECTORS["releases"]["full"]).encode()
TAG = "cuda/1+0"


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A private repository with a release of 120 files, the last of which is the one."""
    files = [StoredAsset(number, f"file-{number}", b"x") for number in range(120)]
    with serving(
        Hub(
            private=True, releases=[StoredRelease(7, TAG, "", False, [*files, StoredAsset(900, "compat.json", COMPAT)])]
        )
    ) as it:
        yield it


def read(hub: Hub, tag: str = TAG, *, token: str = TOKEN, largest: int = 1 << 20) -> bytes:
    return PrivateReleases(f"{hub.api}/", token).compat(hub.repository, tag, largest=largest)


@contextmanager
def elsewhere(status: int = 200, body: bytes = COMPAT) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Another server, and the headers of all that it was asked."""
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(dict(self.headers.items()))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()


def redirected(hub: Hub, beginning: str, to: str) -> None:
    """Every request whose path begins so is sent elsewhere."""

    def mischief(_: int, exchange: Exchange) -> bool:
        if not exchange.path.startswith(beginning):
            return False
        exchange.answer(302, {}, Location=to)
        return True

    hub.mischief = mischief


def answering(hub: Hub, status: int, content: object) -> None:
    def mischief(_: int, exchange: Exchange) -> bool:
        exchange.answer(status, content)
        return True

    hub.mischief = mischief


def test_the_file_of_a_tag_and_of_the_latest_release_is_found_among_many(hub: Hub) -> None:
    assert read(hub) == COMPAT
    assert read(hub, "") == COMPAT
    assert len(read(hub, largest=10)) == 11, "one byte too many is enough"


@pytest.mark.parametrize("path", ["/repos/acme/server/releases/assets/900", "/repos/acme/server/releases/tags/"])
def test_another_host_is_asked_without_the_token(hub: Hub, path: str) -> None:
    """Another port is another server: an asset's storage, and whoever a hostile answer names."""
    with elsewhere() as (address, seen):
        redirected(hub, path, f"{address}/storage?signature=secret")
        if "assets" in path:
            assert read(hub) == COMPAT
        else:
            with pytest.raises(InfrastructureError, match="without an id") as caught:
                read(hub)
            assert "secret" not in str(caught.value)
    assert seen
    assert not [headers for headers in seen if "Authorization" in headers or TOKEN in str(headers)]


def test_the_api_itself_may_redirect_and_gets_it_again(hub: Hub) -> None:
    """A repository that was renamed: the twin of the one above, which would fail without a token."""
    redirected(hub, "/repos/acme/old/releases/tags/", f"{hub.api}/repos/acme/server/releases/tags/cuda%2F1%2B0")
    with pytest.raises(NothingExamined, match=r"no release cuda/1\+0 of acme/old"):
        PrivateReleases(hub.api, TOKEN).compat("acme/old", TAG, largest=10)  # its assets are not redirected here
    assert hub.calls[:2] == [
        "GET /repos/acme/old/releases/tags/cuda%2F1%2B0",
        "GET /repos/acme/server/releases/tags/cuda%2F1%2B0",
    ]


@pytest.mark.parametrize("to", ["ftp://example.org/x", "file:///etc/passwd", "http://[", "http://127.0.0.1:70000/"])
def test_a_redirect_to_no_address_is_followed_by_nobody(hub: Hub, to: str) -> None:
    redirected(hub, "/repos/acme/server/releases/assets/", to)
    with pytest.raises(InfrastructureError, match=r"no address|cannot reach"):
        read(hub)


def test_redirects_without_end_are_left(hub: Hub) -> None:
    redirected(hub, "/repos/", f"{hub.api}/repos/acme/server/releases/tags/again")
    with pytest.raises(InfrastructureError, match="redirected more than 5 times"):
        read(hub)


def test_what_the_token_may_not_see_and_a_wrong_token(hub: Hub) -> None:
    with pytest.raises(NothingExamined, match="no release b1 of acme/server"):
        read(hub, "b1")
    with pytest.raises(UsageError, match="refuses the token") as caught:
        read(hub, token="ghs_EXPIRED")
    assert "EXPIRED" not in str(caught.value)
    assert "EXPIRED" not in repr(PrivateReleases(hub.api, "ghs_EXPIRED"))
    hub.releases[0].assets.pop()
    with pytest.raises(NothingExamined, match=r"has no compat\.json"):
        read(hub)
    answering(hub, 503, {})
    with pytest.raises(InfrastructureError, match="status 503"):
        read(hub)
    with pytest.raises(InfrastructureError, match="cannot reach"):
        PrivateReleases("http://127.0.0.1:9", TOKEN).compat("a/b", "", largest=10)


@pytest.mark.parametrize("answer", [[], {}, {"id": "7"}, "text", None])
def test_rubbish_is_no_release(hub: Hub, answer: object) -> None:
    answering(hub, 200, answer)
    with pytest.raises(InfrastructureError, match="without an id"):
        read(hub)


def pick(hub: Hub, source: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GH_"))}
    command = [
        sys.executable,
        "-m",
        "pipeline",
        "pick",
        source,
        "--target",
        "80@535",
        "--host",
        "glibc=2.36,platform=x86_64",
    ]
    told = {"GITHUB_SERVER_URL": hub.api, "GITHUB_API_URL": hub.api, **variables}
    return subprocess.run(command, cwd=ROOT, env={**kept, **told}, capture_output=True, text=True, check=False)


def test_pick_asks_as_a_stranger_first_and_with_the_token_then(hub: Hub) -> None:
    for source in (f"acme/server@{TAG}", f"{hub.api}/acme/server/releases/latest"):
        hub.calls.clear()
        done = pick(hub, source, GH_TOKEN=TOKEN)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert "server-cuda12.4-x86_64.tar.gz" in done.stdout
        assert hub.calls[0].startswith("GET /acme/server/releases/")
        assert TOKEN not in done.stdout + done.stderr


def test_without_a_token_or_on_another_server_a_private_release_is_not_there(hub: Hub) -> None:
    done = pick(hub, f"acme/server@{TAG}")
    assert (done.returncode, done.stdout) == (3, "")
    assert "a private release needs GITHUB_TOKEN" in done.stderr
    with elsewhere(404, b"") as (address, seen):
        hub.calls.clear()
        assert pick(hub, f"{address}/acme/server/releases/latest", GITHUB_TOKEN=TOKEN).returncode == 3
        assert not hub.calls, "its page is not this token's server"
        assert (
            pick(hub, "acme/server@b1", GITHUB_TOKEN=TOKEN, GITHUB_SERVER_URL=address, GITHUB_API_URL="").returncode
            == 3
        )
        assert not [headers for headers in seen if "Authorization" in headers]
