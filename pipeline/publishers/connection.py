"""Connections by the environment's proxies and certificates, with no credentials but those that were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from collections.abc import Mapping


class Connection(requests.Session):
    """A session in which a .netrc has no say, neither about an address nor about where it redirects to.

    ``requests`` reads proxies, certificates and .netrc by one switch, ``trust_env``; the last is taken out here.
    """

    def __init__(self, headers: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.auth = _as_it_is
        self.headers.update(headers or {})

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Leave out at another server what was for this one, as ``requests`` does, and add nothing."""
        if self.should_strip_auth(response.request.url, prepared_request.url):  # type: ignore[no-untyped-call]
            prepared_request.headers.pop("Authorization", None)


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """No credentials but those in the headers."""
    return request
