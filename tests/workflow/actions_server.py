"""A stand-in for what GitHub's API says of runners, and of the jobs of one run, that can be told to misbehave.

What it answers is held against the models that githubkit-schemas generates from GitHub's OpenAPI description
(``test_actions_server.py``).
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlparse

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "ghs_MARKERTOKEN0123456789"
RUN = "4711"
START = "2026-01-01T00:00:00Z"


@dataclass
class Repository:
    """What is there. ``refuses`` maps a part of a path to a status, ``limited`` counts answers that ask to wait.

    ``earlier`` are the jobs of attempts before the latest.
    """

    name: str = "acme/server"
    owner: str = "User"
    runners: list[dict[str, Any]] = field(default_factory=list)
    organization_runners: list[dict[str, Any]] = field(default_factory=list)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    earlier: list[dict[str, Any]] = field(default_factory=list)
    refuses: dict[str, int] = field(default_factory=dict)
    limited: int = 0
    wait: int = 0
    cancelled: int = 0
    calls: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def variables(self) -> dict[str, str]:
        """What a step has in its environment."""
        return {
            "GITHUB_REPOSITORY": self.name,
            "GITHUB_API_URL": f"http://127.0.0.1:{self.port}",
            "GITHUB_RUN_ID": RUN,
            "GITHUB_TOKEN": TOKEN,
            "RUNNERS_TOKEN": TOKEN,
        }

    def answer(self, verb: str, path: str, query: dict[str, str]) -> tuple[int, Any]:
        """Status and content, as GitHub answers."""
        for part, status in self.refuses.items():
            if part in path:
                return status, {"message": "Resource not accessible by integration"}
        run = f"/actions/runs/{RUN}"
        if (verb, path.removeprefix(f"/repos/{self.name}")) == ("POST", f"{run}/cancel"):
            return self._cancel()
        lists = {
            "/actions/runners": ("runners", self.runners),
            "/orgs/acme/actions/runners": ("runners", self.organization_runners),
            f"{run}/jobs": ("jobs", [*(self.earlier if query.get("filter") == "all" else []), *self.jobs]),
        }
        found = lists.get(path.removeprefix(f"/repos/{self.name}"))
        if found is not None:
            return 200, _page(*found, query)
        if path == f"/repos/{self.name}":
            return 200, {"owner": {"login": self.name.partition("/")[0], "type": self.owner}}
        return 404, {"message": "Not Found"}

    def _cancel(self) -> tuple[int, Any]:
        if all(job["status"] == "completed" for job in self.jobs):
            return 409, {"message": "Cannot cancel a workflow run that is completed"}
        self.cancelled += 1
        for job in self.jobs:
            job |= {"status": "completed", "conclusion": "cancelled"}
        return 202, {}


def runner(name: str, *labels: str, online: bool = True) -> dict[str, Any]:
    """A self-hosted runner as GitHub lists it."""
    read_only = {"self-hosted", "Linux", "X64"}
    return {
        "id": 1,
        "name": name,
        "os": "linux",
        "status": "online" if online else "offline",
        "busy": False,
        "labels": [
            {"id": number, "name": label, "type": "read-only" if label in read_only else "custom"}
            for number, label in enumerate(labels)
        ],
    }


def job(name: str, status: str, *labels: str, created: str = START) -> dict[str, Any]:
    """A job of the run as GitHub lists it."""
    ended = status == "completed"
    here = f"https://api.example/repos/acme/server/actions/jobs/{abs(hash(name))}"
    return {
        "id": 1,
        "run_id": int(RUN),
        "run_url": here,
        "node_id": "J_1",
        "head_sha": "0" * 40,
        "url": here,
        "html_url": here,
        "status": status,
        "conclusion": "success" if ended else None,
        "created_at": created,
        "started_at": created,
        "completed_at": created if ended else None,
        "name": name,
        "check_run_url": here,
        "labels": list(labels),
        "runner_id": None,
        "runner_name": None,
        "runner_group_id": None,
        "runner_group_name": None,
        "workflow_name": "release",
        "head_branch": "main",
    }


def _page(name: str, rows: list[dict[str, Any]], query: dict[str, str]) -> dict[str, Any]:
    size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
    return {"total_count": len(rows), name: rows[(page - 1) * size : page * size]}


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    repository: Repository

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlparse(self.path)
        repository = self.repository
        repository.calls.append(f"{self.command} {address.path}")
        headers = {}
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            status, content = 401, {"message": "Bad credentials"}
        elif repository.limited:
            repository.limited -= 1
            status, content = 403, {"message": "API rate limit exceeded"}
            headers = {"Retry-After": str(repository.wait)}
        else:
            query = {key: values[0] for key, values in parse_qs(address.query).items()}
            status, content = repository.answer(self.command, address.path, query)
        text = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)


@contextmanager
def serving(repository: Repository) -> Iterator[Repository]:
    """Serve ``repository`` on loopback while the block runs."""
    handler = type("Exchange", (_Exchange,), {"repository": repository})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    repository.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield repository
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
