"""Connections by the environment's proxies and certificates, with no credentials but those that were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 64 << 20
"""Bytes of an answer that is read whole: GitHub lists a hundred releases at once, each with rows of all its files."""


class Oversized(requests.RequestException):
    """An answer was larger than anything that was asked for."""


class Connection(requests.Session):
    """A session in which a .netrc has no say, neither about an address nor about where it redirects to.

    ``requests`` reads proxies, certificates and .netrc by one switch, ``trust_env``; the last is taken out here.
    An answer that is not streamed is at most ``LARGEST`` bytes, unpacked: else ``Oversized``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.auth = _as_it_is
        self.hooks["response"].append(bound)

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Leave out at another server what was for this one, as ``requests`` does, and add nothing."""
        if self.should_strip_auth(response.request.url, prepared_request.url):  # type: ignore[no-untyped-call]
            prepared_request.headers.pop("Authorization", None)


class _Bounded:
    """What comes from the network, up to ``LARGEST`` bytes; otherwise as it is."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def stream(self, *arguments: Any, **named: Any) -> Iterator[bytes]:
        """The pieces; ``Oversized`` with the one that is too much."""
        size = 0
        for piece in self._raw.stream(*arguments, **named):
            size += len(piece)
            if size > LARGEST:
                self._raw.close()
                raise Oversized(f"more than {LARGEST} bytes")
            yield piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


def bound(answer: requests.Response, **settings: Any) -> None:
    """``requests`` reads an answer whole unless it is to be streamed, and that of a redirect always."""
    if answer.is_redirect or not settings.get("stream"):
        answer.raw = _Bounded(answer.raw)


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """No credentials but those in the headers."""
    return request
