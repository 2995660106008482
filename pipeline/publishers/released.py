"""Reads the ``compat.json`` of a release that is already public, by its address: no token is needed or sent."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pipeline.errors import InfrastructureError, NothingExamined
from pipeline.publishers.staging import COMPAT

if TYPE_CHECKING:
    from pathlib import Path

    import requests

_PAGE = re.compile(r"(https?://[^/?#]+)/([^/?#]+/[^/?#]+)/releases/(?:tag/([^/?#]+)|latest)/?")
_SHORT = re.compile(r"([A-Za-z0-9-]+/[A-Za-z0-9._-]+)@([^\s@]+)")
WEB = "https://github.com"
"""Where ``owner/name@tag`` lies, unless a workflow on another server says otherwise."""

TIMEOUT = (10.0, 30.0)
"""Seconds to connect, seconds without a byte."""

_LONGEST = 60.0  # seconds for all of it
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Release:
    """A GitHub release by its server, repository and tag; of the latest the tag is empty."""

    web: str
    repository: str
    tag: str

    @property
    def address(self) -> str:
        """Where its ``compat.json`` lies while it is public, as GitHub documents it."""
        folder = f"download/{quote(self.tag, safe='')}" if self.tag else "latest/download"
        return f"{self.web}/{self.repository}/releases/{folder}/{COMPAT}"


def release_of(source: str, web: str = WEB) -> Release | None:
    """The release that ``source`` names by its page or as ``owner/name@tag``; ``None`` where it does neither."""
    page = _PAGE.fullmatch(source)
    if page is not None:
        return Release(page[1], page[2], unquote(page[3] or ""))
    short = _SHORT.fullmatch(source)
    return Release(web.rstrip("/"), short[1], short[2]) if short is not None else None


def address_of(source: str, web: str = WEB) -> str | None:
    """Where ``source`` has its ``compat.json``, any ``http(s)`` address taken as it is; ``None`` where it is none."""
    release = release_of(source, web)
    if release is not None:
        return release.address
    return source if source.startswith(("https://", "http://")) else None


def released_compat(address: str, *, largest: int, ca_bundle: Path | None = None) -> bytes:
    """Download it; of more than ``largest`` bytes one byte too many is returned.

    ``NothingExamined`` where nothing is there, ``InfrastructureError`` where nobody can be asked.
    """
    import requests

    from pipeline.publishers.connection import Connection

    place = printable_address(address)
    trusted = str(ca_bundle) if ca_bundle is not None else None  # else what requests itself reads
    try:
        with (
            Connection() as web,
            web.get(address, timeout=TIMEOUT, stream=True, verify=trusted, auth=_named_only) as answer,
        ):
            if answer.status_code == requests.codes.not_found:
                raise NothingExamined(
                    f"{place}: no such file", remedy="a private release needs GITHUB_TOKEN; a public one must have it"
                )
            answer.raise_for_status()
            return body_of(answer, largest, place)
    except requests.HTTPError as error:
        raise InfrastructureError(f"{place} answers status {error.response.status_code}") from error
    except (requests.RequestException, ValueError) as error:  # the latter for an address, or a redirect, that is none
        raise InfrastructureError(f"cannot reach {place}: {type(error).__name__}") from error


def _named_only(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Credentials that stand in the address, and no others: a .netrc has not been asked for."""
    from requests.auth import HTTPBasicAuth
    from requests.utils import get_auth_from_url

    user, password = get_auth_from_url(request.url or "")
    return HTTPBasicAuth(user, password)(request) if user else request


def body_of(answer: requests.Response, largest: int, place: str) -> bytes:
    """What is answered, and of more than ``largest`` bytes one byte too many; ``InfrastructureError`` for too slow."""
    content, ends = bytearray(), time.monotonic() + _LONGEST
    for chunk in answer.iter_content(_CHUNK):
        content += chunk
        if len(content) > largest:
            break
        if time.monotonic() > ends:
            raise InfrastructureError(f"{place}: not read within {_LONGEST:g} s")
    return bytes(content[: largest + 1])


def printable_address(address: str) -> str:
    """On one line, without credentials and query, in which a signature may stand."""
    from pipeline.model.paths import printable

    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return printable(f"{scheme}://{host.rpartition('@')[2]}{slash}{path.partition('?')[0]}")
