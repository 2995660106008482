"""What an index may answer, it answers: nothing of it is a traceback, is believed, or is repeated with a signature."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import InfrastructureError, UsageError
from pipeline.publishers.python_index import PythonIndex
from tests.publishers.test_directory import approved
from tests.publishers.test_python_index import PASSWORD, wheel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.gate import Approved

FILE = "one-1.0-py3-none-any.whl"
_PIECE = b"\0" * (1 << 20)


class Hostile(BaseHTTPRequestHandler):
    """Answers the project's page, and an upload, with what it is told; a download never ends."""

    page: bytes
    kind: str
    location: str
    sent = 0

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/simple/"):
            self._answer(200 if self.page else 404, "Content-Type", self.kind, self.page)
            return
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(1000):
                self.wfile.write(_PIECE)
                type(self).sent += len(_PIECE)
        except OSError:
            pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(307, "Location", self.location, b"")

    def _answer(self, status: int, name: str, value: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def hostile(
    page: bytes = b"", kind: str = "text/html", location: str = ""
) -> Iterator[tuple[PythonIndex, type[Hostile]]]:
    """An index that answers so while the block runs."""
    answers = type("Answers", (Hostile,), {"page": page, "kind": kind, "location": location})
    server = ThreadingHTTPServer(("127.0.0.1", 0), answers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    try:
        yield PythonIndex(url, f"{url}simple/", "__token__", PASSWORD), answers
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def item(tmp_path: Path) -> Approved:
    return wheel(tmp_path, "one")


@pytest.mark.parametrize(
    "location",
    [
        "https://store.example.org/x?X-Amz-Signature=MARKER",
        "https://somebody:MARKER@example.org/",
        "/x\x1b[31m?sig=MARKER",
        "http://[::1",
    ],
)
def test_an_upload_that_is_redirected_goes_nowhere_and_the_address_is_not_repeated(
    item: Approved, location: str
) -> None:
    with hostile(location=location) as (index, _), pytest.raises((UsageError, InfrastructureError)) as caught:
        index.publish([item])
    assert "MARKER" not in f"{caught.value} {caught.value.__cause__!r}"
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "page",
    [
        b"rubbish",
        b"{}",
        b"[]",
        b"[" * 100_000,
        b'{"meta": {"api-version": "9.0"}, "name": "one", "files": []}',
        b'{"meta": {"api-version": "x"}, "name": "one", "files": []}',
        b'{"meta": {"api-version": "1.0"}, "name": "one", "files": [{"filename": 5}]}',
        b'{"meta": {"api-version": "1.0"}, "name": "one", "files": [{"filename": "%s", "url": "%s", "hashes": {}}]}'
        % (FILE.encode(), b"http://[::1"),
    ],
)
def test_a_page_that_is_none_is_infrastructure(item: Approved, page: bytes) -> None:
    with hostile(page, "application/vnd.pypi.simple.v1+json") as (index, _), pytest.raises(InfrastructureError):
        index.publish([item])


@pytest.mark.parametrize(
    "page", [b'<a href="http://[::1/x">%s</a>' % FILE.encode(), b'<meta name="pypi:repository-version" content="x">']
)
def test_a_page_in_html_that_is_none_is_infrastructure(item: Approved, page: bytes) -> None:
    with hostile(page) as (index, _), pytest.raises(InfrastructureError):
        index.publish([item])


def test_a_download_without_an_end_is_left(item: Approved) -> None:
    with hostile(b'<a href="/%s">%s</a>' % (FILE.encode(), FILE.encode())) as (index, answers):
        with pytest.raises(UsageError, match="other bytes"):
            index.publish([item])
        assert answers.sent < 100 * len(_PIECE)


def test_what_is_called_a_wheel_and_is_none_is_told(tmp_path: Path) -> None:
    made = approved(tmp_path, "one", b"no zip")
    path = made.artifact.path.rename(tmp_path / FILE)
    with hostile() as (index, _), pytest.raises(UsageError, match="no wheel"):
        index.publish([replace(made, artifact=replace(made.artifact, path=path))])
