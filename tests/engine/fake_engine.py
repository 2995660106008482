"""An engine on a Unix socket that answers as told, for what a real one does only when it breaks."""

from __future__ import annotations

import socketserver
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import docker

from pipeline.engine.docker import DockerEngine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    build_answer: bytes
    requests: list[str]


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = cast("_Server", self.server)
        while line := self.rfile.readline():
            request = line.decode().split(" ")[1]
            server.requests.append(request.partition("?")[0])
            self._skip_request()
            if "/build/cancel" not in request and "/build" in request:
                self.wfile.write(server.build_answer)
                return
            self._answer(b'{"ApiVersion": "1.41", "MinAPIVersion": "1.12", "Version": "20.10"}')

    def _skip_request(self) -> None:
        length = 0
        while (line := self.rfile.readline()).strip():
            name, _, value = line.decode().partition(":")
            if name.lower() == "content-length":
                length = int(value)
        self.rfile.read(length)

    def _answer(self, body: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.wfile.write(head.encode() + body)


@contextmanager
def fake_engine(folder: Path, build_answer: bytes) -> Iterator[tuple[DockerEngine, list[str]]]:
    """An engine whose answer to a build is ``build_answer``, after which it hangs up; and the paths asked for."""
    path = folder / "engine.sock"
    with _Server(str(path), _Connection) as server:
        server.build_answer, server.requests = build_answer, []
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        client = docker.DockerClient(base_url=f"unix://{path}", version="1.41")
        try:
            yield DockerEngine(client), server.requests
        finally:
            client.close()
            server.shutdown()
            thread.join()


def chunked(*lines: bytes, complete: bool = True) -> bytes:
    """An answer of JSON lines; not ``complete``: the connection breaks in the middle."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(f"{len(line) + 2:x}\r\n".encode() + line + b"\r\n\r\n" for line in lines)
    return head + chunks + (b"0\r\n\r\n" if complete else b"")
