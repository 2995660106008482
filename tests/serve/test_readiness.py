"""What counts as ready, by the paths that a server knows."""

from __future__ import annotations

import http.server
import json
import threading
from typing import TYPE_CHECKING

import pytest

from pipeline.serve.http import Questions
from pipeline.serve.outcome import CheckFailed
from pipeline.serve.readiness import wait_until_ready

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.engine.interface import Server

STATUSES: dict[str, int] = {}


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(STATUSES.get(self.path, 404))
        self.end_headers()
        self.wfile.write(json.dumps({"data": [{"id": "tiny"}]}).encode())

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


class _Running:
    def __init__(self, url: str) -> None:
        self.base_url = url

    def exit_status(self) -> int | None:
        return None

    def processes(self) -> tuple[int, ...]:
        return ()

    def log_tail(self, lines: int = 40) -> str:  # noqa: ARG002
        return ""

    def stop(self, timeout: float) -> tuple[str, ...]:  # noqa: ARG002
        return ()


@pytest.fixture
def server() -> Iterator[Server]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield _Running(f"http://127.0.0.1:{listening.server_port}")
        listening.shutdown()


@pytest.mark.parametrize(
    ("statuses", "paths", "ready"),
    [
        ({"/health": 200, "/v1/models": 200}, ("/health", "/v1/models"), True),
        ({"/v1/models": 200}, ("/health", "/v1/models"), True),
        ({"/v1/models": 200}, ("/health",), False),
        ({"/health": 503, "/v1/models": 200}, ("/health", "/v1/models"), False),
        ({"/ping": 200, "/v1/models": 200}, ("/ping",), True),
        ({"/v1/models": 200}, ("/v1/models",), True),
    ],
)
def test_the_first_path_that_it_knows_counts(
    server: Server, statuses: dict[str, int], paths: tuple[str, ...], ready: bool
) -> None:
    STATUSES.clear()
    STATUSES.update(statuses)
    with Questions(server.base_url) as questions:
        if ready:
            wait_until_ready(server, questions, "tiny", 2.0, paths=paths)
        else:
            with pytest.raises(CheckFailed, match=r"not ready after 0\.3 s"):
                wait_until_ready(server, questions, "tiny", 0.3, paths=paths)
