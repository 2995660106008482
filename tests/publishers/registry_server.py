"""Debian's own ``docker-registry`` on loopback, and a proxy in front of it that can be told to misbehave."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.conftest import REQUIRE_DOCKER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
USERNAME, PASSWORD = "pusher", "reg-MARKERTOKEN"
HASHED = "$2b$04$/rVLqEweRqnMOi6kvovfreliI6Oy7uFep1YxQZzVjz2If15B3twH2"
"""``PASSWORD`` by bcrypt, the one way that this registry reads."""
_HOP = {"connection", "transfer-encoding", "keep-alive"}


@contextmanager
def registry(folder: Path, **auth: Any) -> Iterator[str]:
    """A registry whose settings and log are in ``folder``; its ``host:port``."""
    if shutil.which("docker-registry") is None:
        if os.environ.get(REQUIRE_DOCKER):
            pytest.fail("there is no docker-registry: apt-get install docker-registry")
        pytest.skip("no docker-registry: apt-get install docker-registry")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    settings = {
        "version": 0.1,
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"inmemory": {}, "delete": {"enabled": True}},
        "http": {"addr": host, "relativeurls": False},
        **({"auth": auth} if auth else {}),
    }
    (folder / "registry.yml").write_text(json.dumps(settings))
    with (
        (folder / "registry.log").open("wb") as log,
        subprocess.Popen(["docker-registry", "serve", str(folder / "registry.yml")], stdout=log, stderr=log) as process,
    ):
        try:
            _await(host, process)
            yield host
        finally:
            process.kill()


def _await(host: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            requests.get(f"http://{host}/v2/", timeout=1)
        except requests.ConnectionError:
            assert process.poll() is None, "the registry does not start"
            assert time.monotonic() < deadline, "the registry does not answer"
            time.sleep(0.02)
        else:
            return


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody who reads one repository of a registry without the code under test."""

    host: str
    name: str

    def get(self, path: str) -> requests.Response:
        return requests.get(f"http://{self.host}/v2/{self.name}/{path}", headers={"Accept": MANIFEST}, timeout=10)

    def tags(self) -> dict[str, str]:
        """Tag → digest of the bytes that it names."""
        names = self.get("tags/list").json().get("tags") or []
        return {name: _sha256(self.get(f"manifests/{name}").content) for name in names}

    def manifest(self, reference: str) -> Any:
        answer = self.get(f"manifests/{reference}")
        answer.raise_for_status()
        return answer.json()

    def blob(self, digest: str) -> bytes:
        answer = self.get(f"blobs/{digest}")
        answer.raise_for_status()
        assert _sha256(answer.content) == digest
        return answer.content

    def check(self, reference: str) -> dict[str, Any]:
        """Everything that a tag names is there, and is what its digest says; its manifest."""
        manifest: dict[str, Any] = self.manifest(reference)
        for row in (manifest["config"], *manifest["layers"]):
            assert len(self.blob(row["digest"])) == row["size"]
        return manifest


class Exchange(BaseHTTPRequestHandler):
    """One request on its way. ``front.mischief(number, self)`` may answer in the registry's place and return true."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    front: Front

    def log_message(self, *_: Any) -> None:
        pass

    def _serve(self) -> None:
        front = self.front
        with front.lock:
            front.requests += 1
            number = front.requests
            front.calls.append(f"{self.command} {self.path.partition('?')[0]}")
            front.heard.append(self.headers.get("Authorization", ""))
        self.content: bytes | None = None
        if front.mischief is None or not front.mischief(number, self):
            self.forward()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

    def body(self) -> bytes:
        """The request's content, read once."""
        if self.content is None:
            self.content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return self.content

    def asked(self) -> tuple[int, list[tuple[str, str]], bytes]:
        """What the registry answers."""
        there = http.client.HTTPConnection(self.front.behind, timeout=30)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
            there.request(self.command, self.path, body=self.body(), headers=headers)
            answer = there.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            there.close()

    def forward(self) -> None:
        self.answer(*self.asked())

    def answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.body()
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in {*_HOP, "content-length"}:
                self.send_header(name, value)
        length = dict(headers).get("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(content)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else content)
        self.wfile.flush()

    def cut(self) -> None:
        """Close the connection without a word."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


@dataclass
class Front:
    """The proxy: what it saw, and what it does instead of passing it on."""

    behind: str
    mischief: Callable[[int, Exchange], bool] | None = None
    requests: int = 0
    calls: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    port: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def written(self) -> list[str]:
        """The calls that change anything."""
        return [call for call in self.calls if call.split()[0] not in {"GET", "HEAD"}]


@contextmanager
def before(behind: str) -> Iterator[Front]:
    """Stand before the registry while the block runs."""
    front = Front(behind)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Exchange,), {"front": front}))
    server.daemon_threads = True
    front.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield front
    finally:
        server.shutdown()
        server.server_close()


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
