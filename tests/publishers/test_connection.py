"""Proxies are the environment's, credentials are not: a .netrc has a say at no address, also where one redirects."""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError
from pipeline.publishers.github_api import Github
from pipeline.publishers.python_index import PythonIndex
from pipeline.publishers.released import released_compat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@contextmanager
def serving(status: int, content: bytes, location: str = "") -> Iterator[tuple[int, list[tuple[str, str | None]]]]:
    """The port of a server, and what it was asked: the address as it stood in the request, and as whom."""
    seen: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, self.headers["Authorization"]))
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server.server_address[1], seen
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home with nothing but a .netrc that has credentials for every host, and no proxies."""
    (tmp_path / ".netrc").write_text("default login somebody password else\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("NETRC", *PROXIES, *(each.upper() for each in PROXIES)):
        monkeypatch.delenv(name, raising=False)


def test_nobody_is_named_where_an_address_redirects_to() -> None:
    with serving(200, b"{}") as (port, seen), serving(302, b"", f"http://localhost:{port}/there") as (first, asked):
        assert released_compat(f"http://127.0.0.1:{first}/here", largest=10) == b"{}"
    assert (asked, seen) == ([("/here", None)], [("/there", None)])


def test_credentials_of_the_address_stay_at_its_host() -> None:
    with serving(200, b"{}") as (port, seen), serving(302, b"", f"http://localhost:{port}/there") as (first, asked):
        assert released_compat(f"http://user:secret@127.0.0.1:{first}/here", largest=10) == b"{}"
    assert (asked, seen) == ([("/here", "Basic dXNlcjpzZWNyZXQ=")], [("/there", None)])


def test_a_public_address_is_asked_for_by_way_of_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(200, b"{}") as (port, seen):
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        assert released_compat("http://files.example.org/compat.json", largest=10) == b"{}"
    assert seen == [("http://files.example.org/compat.json", None)]


def test_a_release_is_made_by_way_of_the_proxy_with_the_token_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(200, b'{"permissions": {"push": true}}') as (port, seen):
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        github = Github("http://api.example.org", "o/n", "ghs_MARKER")
        assert github.may_push()
        github.close()
    assert seen == [("http://api.example.org/repos/o/n", "Bearer ghs_MARKER")]


def test_hosts_that_need_no_proxy_are_asked_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving(200, b'{"permissions": {"push": true}}') as (port, seen):
        github = Github(f"http://127.0.0.1:{port}", "o/n", "ghs_MARKER")
        assert github.may_push()
        github.close()
    assert seen == [("/repos/o/n", "Bearer ghs_MARKER")]


def test_the_token_stays_where_github_redirects_from() -> None:
    with serving(200, b"{}") as (port, seen), serving(302, b"", f"http://localhost:{port}/there") as (first, _):
        github = Github(f"http://127.0.0.1:{first}", "o/n", "ghs_MARKER")
        assert not github.may_push()
        github.close()
    assert seen == [("/there", None)]


def large(size: int) -> bytes:
    return b'{"permissions": {"push": true}}'.ljust(size)


@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_of_github_is_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setattr("pipeline.publishers.connection.LARGEST", 100_000)
    with serving(status, large(100_001)) as (port, _):
        github = Github(f"http://127.0.0.1:{port}", "o/n", "ghs_MARKER", sleep=lambda _: None)
        with pytest.raises(InfrastructureError, match="Oversized"):
            github.may_push()
        github.close()
    with serving(200, large(100_000)) as (port, _):
        github = Github(f"http://127.0.0.1:{port}", "o/n", "ghs_MARKER")
        assert github.may_push()
        github.close()


def test_a_page_of_an_index_is_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.publishers.connection.LARGEST", 100_000)
    for size, fits in ((100_000, True), (100_001, False)):
        with serving(200, b" " * size) as (port, _):
            url = f"http://127.0.0.1:{port}/"
            with nullcontext() if fits else pytest.raises(InfrastructureError, match="Oversized"):
                PythonIndex(url, url, "__token__", "pypi-MARKER").preflight()


def test_a_redirect_is_read_up_to_a_bound_and_a_stream_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.publishers.connection.LARGEST", 1000)
    with serving(200, b"x" * 5000) as (port, _):
        there = f"http://127.0.0.1:{port}/there"
        for size, fits in ((1000, True), (1001, False)):
            told = nullcontext() if fits else pytest.raises(InfrastructureError, match="Oversized")
            with serving(302, b"x" * size, there) as (first, _), told:
                assert len(released_compat(f"http://127.0.0.1:{first}/", largest=9000)) == 5000
