"""A stand-in for the few calls of GitHub's API that the workflow makes: who serves labels, a run's jobs, ending it."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.workflow_runs.repository import Json

OWNER_NAME = "somebody/product"


@dataclass(slots=True)
class Api:
    """What it answers about the jobs, and what was asked of it; ``address`` is its root."""

    jobs: list[Json]
    address: str = ""
    asked: list[str] = field(default_factory=list)


@contextmanager
def served(jobs: list[Json]) -> Iterator[Api]:
    """An API that answers until the block ends."""
    api = Api(jobs)

    class Handler(_Answers):
        told = api

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        api.address = f"http://127.0.0.1:{server.server_address[1]}"
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield api
        finally:
            server.shutdown()


class _Answers(BaseHTTPRequestHandler):
    told: ClassVar[Api]

    def do_GET(self) -> None:
        self._note()
        here = f"/repos/{OWNER_NAME}"
        answers: dict[str, Json] = {
            here: {"owner": {"type": "User", "login": OWNER_NAME.partition("/")[0]}},
            f"{here}/actions/runners": {"runners": [], "total_count": 0},
            f"{here}/actions/runs/1/jobs": {"jobs": self.told.jobs, "total_count": len(self.told.jobs)},
        }
        place = self.path.partition("?")[0].rstrip("/")
        self._answer(200 if place in answers else 404, answers.get(place, {}))

    def do_POST(self) -> None:
        self._note()
        self._answer(202 if self.path == f"/repos/{OWNER_NAME}/actions/runs/1/cancel" else 404, {})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name that the class has for it
        """Say nothing: what was asked is kept."""

    def _note(self) -> None:
        self.told.asked.append(f"{self.command} {self.path.partition('?')[0]}")

    def _answer(self, status: int, content: Json) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
