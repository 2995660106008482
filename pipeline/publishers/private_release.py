"""Reads the ``compat.json`` of a private GitHub release: the token goes to the API's own address and nowhere else.

Assets lie at another host, to which the API redirects with a signed address: whoever is redirected goes there without
the token. Source: https://docs.github.com/en/rest/releases/assets ("Get a release asset").
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from pipeline.errors import InfrastructureError, NothingExamined, UsageError
from pipeline.publishers.github_api import VERSION
from pipeline.publishers.released import TIMEOUT, body_of
from pipeline.publishers.staging import COMPAT

if TYPE_CHECKING:
    from pathlib import Path

    import requests

_LARGEST_LIST = 8 << 20  # bytes of an answer about a release
_PAGE = 100
_MOST_PAGES = 10
_MOST_REDIRECTS = 5
_JSON, _BYTES = "application/vnd.github+json", "application/octet-stream"
_PORTS = {"http": 80, "https": 443}
_NO_ADDRESS = "GitHub redirects to something that is no address"


@dataclass(frozen=True, slots=True)
class PrivateReleases:
    """The releases that a token may see, at one API (``https://api.github.com``)."""

    api: str
    token: str = field(repr=False)
    ca_bundle: Path | None = None

    def compat(self, repository: str, tag: str, *, largest: int) -> bytes:
        """Download the ``compat.json`` of a tag, of the latest release where it is empty; one byte over ``largest``.

        ``NothingExamined`` where the token sees no such release or file, ``UsageError`` where it is refused,
        ``InfrastructureError`` where GitHub cannot be asked.
        """
        base = f"{self.api.rstrip('/')}/repos/{repository}/releases"
        where = f"release {tag or 'latest'} of {repository}"
        release = self._json(f"{base}/tags/{quote(tag, safe='')}" if tag else f"{base}/latest", where)
        for page in range(1, _MOST_PAGES + 1):
            listed = self._json(f"{base}/{_number(release, where)}/assets?per_page={_PAGE}&page={page}", where)
            rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
            for row in rows:
                if row.get("name") == COMPAT:
                    return self._read(f"{base}/assets/{_number(row, where)}", _BYTES, largest, where)
            if len(rows) < _PAGE:
                break
        raise NothingExamined(f"{where} has no {COMPAT}", remedy="it was not published by cubingate")

    def _json(self, address: str, where: str) -> Any:
        try:
            return json.loads(self._read(address, _JSON, _LARGEST_LIST, where))
        except (ValueError, RecursionError):
            raise InfrastructureError(f"GitHub answers something other than JSON about {where}") from None

    def _read(self, address: str, accept: str, largest: int, where: str) -> bytes:
        """Follow redirects by hand, each with the token only where it is still the API that is asked."""
        for _ in range(_MOST_REDIRECTS + 1):
            with self._asked(address, accept, where) as answer:
                if not answer.is_redirect:
                    _refuse(answer.status_code, where)
                    return body_of(answer, largest, where)
                address = _next(address, answer.headers["Location"])
        raise InfrastructureError(f"{where}: redirected more than {_MOST_REDIRECTS} times")

    def _asked(self, address: str, accept: str, where: str) -> requests.Response:
        import requests

        headers = {"Accept": accept, "User-Agent": "cubingate"}
        if _origin(address) == _origin(self.api):
            headers |= {"Authorization": f"Bearer {self.token}", "X-GitHub-Api-Version": VERSION}
        trusted = str(self.ca_bundle) if self.ca_bundle is not None else None
        try:
            return requests.get(
                address,
                headers=headers,
                timeout=TIMEOUT,
                stream=True,
                verify=trusted,
                auth=_as_it_is,
                allow_redirects=False,
            )
        except (requests.RequestException, ValueError) as error:  # the latter for a redirect to no address
            # By the kind of error alone: its text may hold a signed address.
            raise InfrastructureError(f"cannot reach GitHub for {where}: {type(error).__name__}") from None


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """No credentials but those in the headers: a .netrc has not been asked for."""
    return request


def _next(address: str, location: str) -> str:
    try:
        return urljoin(address, location)
    except ValueError:
        raise InfrastructureError(_NO_ADDRESS) from None


def _origin(address: str) -> tuple[str, str, int]:
    """Scheme, host and port, the scheme's own where none is named; equal for one and the same server only."""
    try:
        parts = urlsplit(address)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise InfrastructureError(_NO_ADDRESS) from None
    return parts.scheme, parts.hostname or "", port


def _refuse(status: int, where: str) -> None:
    if status == 404:
        raise NothingExamined(f"no {where}", remedy="check its name, and that the token may read the repository")
    if status == 401:
        raise UsageError(f"GitHub refuses the token for {where}", remedy="renew GITHUB_TOKEN, or unset it")
    if status >= 400:
        raise InfrastructureError(f"GitHub answers status {status} about {where}")


def _number(row: Any, where: str) -> int:
    number = row.get("id") if isinstance(row, dict) else None
    if not isinstance(number, int):
        raise InfrastructureError(f"GitHub answers something without an id about {where}")
    return number
