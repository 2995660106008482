"""What comes back from a server that may answer anything: its status and the start of its body, nothing else.

A server chooses its headers too. With a charset that is no text encoding, a compression that unpacks to gigabytes or a
redirect to somebody else they would have a say in how its answer is read, so they are dropped.
"""

from __future__ import annotations

import ssl
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import ModuleType, TracebackType

BODY_LIMIT = 1 << 20


def http_library() -> ModuleType:
    """The HTTP library that the installed OpenAI client is made of: httpx, or httpx2 since 3.0."""
    from openai import DefaultHttpxClient

    return import_module(DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])


class BoundedTransport:
    """Plain HTTP for a client of ``http_library``; of a body only the first ``BODY_LIMIT`` bytes, as they were sent."""

    def __init__(self) -> None:
        # Nobody is trusted: this is not TLS, and the 50 ms for loading the certificates of the world are saved.
        self._below: Any = http_library().HTTPTransport(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def __enter__(self) -> Self:
        self._below.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._below.__exit__(kind, error, trace)

    def close(self) -> None:
        """Close every connection."""
        self._below.close()

    def handle_request(self, request: Any) -> Any:
        """Send and read; errors as the library's."""
        request.headers["Accept-Encoding"] = "identity"
        response = self._below.handle_request(request)
        body = b""
        try:
            for piece in response.stream:
                body += piece
                if len(body) > BODY_LIMIT:
                    break
        finally:
            response.close()
        return type(response)(response.status_code, content=body[:BODY_LIMIT], request=request)
