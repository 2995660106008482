"""A public release is read by its address, from a server that may be anything."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError, NothingExamined
from pipeline.publishers.released import address_of, released_compat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = "https://github.com/owner/name/releases"


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("owner/name@b1234", f"{PAGE}/download/b1234/compat.json"),
        ("owner/name@cuda/1 0", None),
        ("owner/name@cuda/1+0", f"{PAGE}/download/cuda%2F1%2B0/compat.json"),
        (f"{PAGE}/tag/b1234", f"{PAGE}/download/b1234/compat.json"),
        (f"{PAGE}/latest", f"{PAGE}/latest/download/compat.json"),
        ("https://example.org/x/compat.json", "https://example.org/x/compat.json"),
        ("http://127.0.0.1/c", "http://127.0.0.1/c"),
        ("ftp://example.org/compat.json", None),
        ("dist", None),
        ("owner/name", None),
    ],
)
def test_where_a_release_lies(source: str, address: str | None) -> None:
    assert address_of(source) == address


@contextmanager
def served(
    status: int, body: bytes, seen: list[str | None] | None = None, user: str = "user:secret@", location: str = ""
) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if seen is not None:
                seen.append(self.headers["Authorization"])
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{user}127.0.0.1:{server.server_address[1]}/compat.json?sig=secret"
    finally:
        server.shutdown()
        server.server_close()


def test_the_bytes_are_handed_on() -> None:
    with served(200, b"{}") as address:
        assert released_compat(address, largest=10) == b"{}"


def test_no_credentials_but_those_of_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    seen: list[str | None] = []
    for user in ("", "user:secret@"):
        with served(200, b"{}", seen, user) as address:
            released_compat(address, largest=10)
    assert seen == [None, "Basic dXNlcjpzZWNyZXQ="]


def test_one_byte_too_many_is_enough() -> None:
    with served(200, b"x" * 100_000) as address:
        assert len(released_compat(address, largest=10)) == 11


def test_what_is_not_there_and_who_does_not_answer() -> None:
    with served(404, b"") as address, pytest.raises(NothingExamined, match="no such file") as absent:
        released_compat(address, largest=10)
    assert "secret" not in str(absent.value)
    with served(500, b"") as address, pytest.raises(InfrastructureError, match="status 500") as broken:
        released_compat(address, largest=10)
    assert "secret" not in str(broken.value)
    with pytest.raises(InfrastructureError, match="cannot reach"):
        released_compat("http://127.0.0.1:9/compat.json", largest=10)
    with pytest.raises(InfrastructureError, match="cannot reach"):
        released_compat("http://", largest=10)


@pytest.mark.parametrize(
    "location", ["http://[", "http://127.0.0.1:70000/", "ftp://example.org/", "file:///etc/passwd"]
)
def test_a_redirect_to_no_address_is_a_line(location: str) -> None:
    with served(302, b"", location=location) as address, pytest.raises(InfrastructureError, match="cannot reach"):
        released_compat(address, largest=10)
