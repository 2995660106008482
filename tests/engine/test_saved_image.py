"""Images as an engine sends them, and an engine that breaks while it does."""

from __future__ import annotations

import socketserver
import threading
from typing import TYPE_CHECKING

import pytest

from pipeline.engine.saved_image import SavedImage
from pipeline.errors import EngineUnavailable, InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANSWERS = {
    "/version": b'{"ApiVersion": "1.41", "MinAPIVersion": "1.12"}',
    "/json": b'{"Id": "sha256:00"}',
    "/_ping": b"OK",
}


class _Connection(socketserver.StreamRequestHandler):
    """Answers one request; of an image it sends less than it promised."""

    def handle(self) -> None:
        target = self.rfile.readline().decode().split(" ")[1].partition("?")[0]
        while self.rfile.readline().strip():
            pass
        body = next((body for end, body in ANSWERS.items() if target.endswith(end)), None)
        if "broken" in target and target.endswith("/json"):
            body = b'{"message": "the layer store is broken"}'
            self._head("500 Internal Server Error", len(body))
            self.wfile.write(body)
        elif body is not None:
            self._head("200 OK", len(body))
            self.wfile.write(body)
        else:
            self._head("200 OK", 1 << 30)
            self.wfile.write(bytes(5000))

    def _head(self, status: str, length: int) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {length}"
        self.wfile.write(f"{head}\r\n\r\n".encode())


@pytest.fixture
def breaking_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = tmp_path / "engine.sock"
    with socketserver.ThreadingUnixStreamServer(str(path), _Connection) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        yield
        server.shutdown()
        thread.join()


def read(image: SavedImage) -> int:
    with image.opened() as chunks:
        return sum(map(len, chunks))


@pytest.mark.usefixtures("breaking_engine")
def test_an_engine_that_hangs_up_is_no_fault_of_the_image() -> None:
    with pytest.raises(InfrastructureError, match="sending docker://x"):
        read(SavedImage("x"))
    with pytest.raises(InfrastructureError, match="sending docker://broken: the layer store"):
        read(SavedImage("broken"))


def test_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")  # of a Unix socket the SDK would leave one open
    with pytest.raises(EngineUnavailable):
        read(SavedImage("x"))


@pytest.mark.docker
def test_no_image() -> None:
    with pytest.raises(UsageError, match=r"docker://cubingate-test/absent: .* \(docker pull"):
        read(SavedImage("cubingate-test/absent"))
