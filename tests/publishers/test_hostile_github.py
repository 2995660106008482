"""What GitHub's API may answer, it answers: nothing of it is a traceback, and no word of it brings a token along."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import InfrastructureError
from pipeline.publishers.github_actions import GithubActions
from pipeline.publishers.github_api import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOKEN = "ghp-MARKERTOKEN"
_RELEASE = b'{"id": %s, "tag_name": "x", "draft": false, "body": "", "upload_url": "", "html_url": ""}'


class Answers(BaseHTTPRequestHandler):
    """The same answer to everything."""

    status: int
    headed: dict[str, str]
    content: bytes

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(self.status)
        for name, value in self.headed.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)


@contextmanager
def answering(status: int, content: bytes, **headed: str) -> Iterator[GithubActions]:
    """GitHub's API while the block runs."""
    headed = {name.replace("_", "-"): value for name, value in headed.items()}
    answers = type("Answers", (Answers,), {"status": status, "content": content, "headed": headed})
    server = ThreadingHTTPServer(("127.0.0.1", 0), answers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    github = GithubActions(f"http://127.0.0.1:{server.server_address[1]}", "o/n", TOKEN, sleep=lambda _: None)
    try:
        yield github
    finally:
        github.close()
        server.shutdown()
        server.server_close()


CALLS: tuple[Callable[[GithubActions], object], ...] = (
    lambda github: github.may_push(),
    lambda github: github.organization(),
    lambda github: github.public_release("v1"),
    lambda github: github.tag_commit("v1"),
    lambda github: list(github.releases()),
    lambda github: github.runners(),
    lambda github: github.jobs("1"),
)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "content", [b"5", b"null", b"rubbish", b'["a"]', b'"object"', b"[" * 100_000, _RELEASE % b"1e999", _RELEASE % b"[]"]
)
def test_an_answer_of_another_shape_is_infrastructure(call: Callable[[GithubActions], object], content: bytes) -> None:
    with answering(200, content) as github:
        try:
            answer = call(github)
        except InfrastructureError:
            return
    assert answer is False, "a repository that names no permissions gives none"


@pytest.mark.parametrize(
    "asked", [{"Retry_After": "\u00b2"}, {"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": "\u00b2"}]
)
def test_a_time_to_wait_that_is_no_number_is_not_waited_for(asked: dict[str, str]) -> None:
    with answering(429, b"{}", **asked) as github, pytest.raises(Refusal, match="429"):
        github.may_push()


@pytest.mark.parametrize(
    "content",
    [
        b'{"message": "no \\u001b[31m\\n::error::x"}',
        b'{"message": "no %s"}' % TOKEN.encode(),
        b'{"message": "no", "errors": [{"code": "%s"}]}' % TOKEN.encode(),
        b'{"message": "%s %s"}' % (b"x" * 190, TOKEN.encode()),
        b"[" * 100_000,
    ],
)
def test_words_of_an_answer_are_one_line_without_the_token(content: bytes) -> None:
    with answering(400, content) as github, pytest.raises(Refusal) as caught:
        github.may_push()
    assert str(caught.value).isprintable()
    assert "MARKER" not in str(caught.value)
    assert "ghp" not in str(caught.value)
