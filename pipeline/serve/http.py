"""Plain questions to a server that may answer anything: short, bounded, never through a proxy."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from pipeline.serve.outcome import CheckFailed, Fault

if TYPE_CHECKING:
    from types import TracebackType

    import requests

_BODY_LIMIT = 1 << 20
_TIMEOUT = (
    1.0  # seconds for the header and again for the body; a server on this machine that takes longer is asked again
)
_GRACE = 0.5  # seconds that this machine may take to run a thread


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP status and as much of the body as anybody needs."""

    status: int
    body: bytes

    def json(self, path: str) -> Any:
        """The body as JSON; ``CheckFailed`` when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise CheckFailed(
                Fault.ANSWERS_RUBBISH, f"{path} answered {shortened(self.body)}, which is not JSON"
            ) from error


class Questions:
    """A connection to one server."""

    def __init__(self, base_url: str) -> None:
        import requests  # loads slowly

        self._base_url = base_url
        self._connect = requests.Session
        self._session = _untrusting(self._connect())
        self._unreachable = requests.RequestException

    def __enter__(self) -> Questions:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    def get(self, path: str) -> Answer | None:
        """Ask for ``path``; ``None`` while nobody answers there, or only ever the beginning of a header."""
        # The client's own timeout starts anew with every byte: a header that drips would hold this thread for hours.
        answers: SimpleQueue[Answer | None] = SimpleQueue()
        threading.Thread(target=lambda: answers.put(self._ask(path)), daemon=True).start()
        try:
            return answers.get(timeout=2 * _TIMEOUT + _GRACE)
        except Empty:
            self._session = _untrusting(self._connect())  # the thread that waits has the other one
            return None

    def _ask(self, path: str) -> Answer | None:
        try:
            with self._session.get(
                self._base_url + path, timeout=_TIMEOUT, stream=True, allow_redirects=False
            ) as response:
                return Answer(response.status_code, _body(response))
        except self._unreachable:
            return None


def _untrusting(session: requests.Session) -> requests.Session:
    session.trust_env = False  # a proxy or a .netrc has no say about this machine
    session.headers["Accept-Encoding"] = "identity"
    return session


def _body(response: requests.Response) -> bytes:
    """All of a small body, however it is cut; what came so far of one that is large or does not end."""
    body, deadline = b"", time.monotonic() + _TIMEOUT
    for piece in response.iter_content(1 << 16):
        body += piece
        if len(body) > _BODY_LIMIT or time.monotonic() > deadline:
            break
    return body


def shortened(body: bytes | str) -> str:
    """The start of a body, fit for one line."""
    text = body.decode(errors="backslashreplace") if isinstance(body, bytes) else body
    return repr(text if len(text) <= 80 else text[:80] + "…")
