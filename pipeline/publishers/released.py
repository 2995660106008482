"""Reads the ``compat.json`` of a release that is already public, by its address: no token is needed or sent."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING
from urllib.parse import quote

from pipeline.errors import InfrastructureError, NothingExamined
from pipeline.publishers.staging import COMPAT

if TYPE_CHECKING:
    from pathlib import Path

    import requests

_PAGE = re.compile(r"(https?://[^/?#]+/[^/?#]+/[^/?#]+)/releases/(?:tag/([^/?#]+)|latest)/?")
_SHORT = re.compile(r"([A-Za-z0-9-]+/[A-Za-z0-9._-]+)@([^\s@]+)")
_WEB = "https://github.com"
_TIMEOUT = (10.0, 30.0)  # seconds to connect, seconds without a byte
_LONGEST = 60.0  # seconds for all of it
_CHUNK = 1 << 16


def address_of(source: str) -> str | None:
    """Where ``source`` has its ``compat.json``; ``None`` where it is no address.

    An ``http(s)`` address is taken as it is, except the page of a GitHub release (or of the latest), and
    ``owner/name@tag``, whose files lie at addresses that GitHub documents.
    """
    page = _PAGE.fullmatch(source)
    if page is not None:
        repository, tag = page.groups()
        return f"{repository}/releases/{f'download/{tag}' if tag else 'latest/download'}/{COMPAT}"
    short = _SHORT.fullmatch(source)
    if short is not None:
        return f"{_WEB}/{short[1]}/releases/download/{quote(short[2], safe='')}/{COMPAT}"
    return source if source.startswith(("https://", "http://")) else None


def released_compat(address: str, *, largest: int, ca_bundle: Path | None = None) -> bytes:
    """Download it; of more than ``largest`` bytes one byte too many is returned.

    ``NothingExamined`` where nothing is there, ``InfrastructureError`` where nobody can be asked.
    """
    import requests

    place = _printable(address)
    trusted = str(ca_bundle) if ca_bundle is not None else None  # else what requests itself reads
    try:
        with requests.get(address, timeout=_TIMEOUT, stream=True, verify=trusted, auth=_named_only) as answer:
            if answer.status_code == requests.codes.not_found:
                raise NothingExamined(f"{place}: no such file", remedy="the release must be public and have it")
            answer.raise_for_status()
            return _body(answer, largest, place)
    except requests.HTTPError as error:
        raise InfrastructureError(f"{place} answers status {error.response.status_code}") from error
    except (requests.RequestException, UnicodeError) as error:
        raise InfrastructureError(f"cannot reach {place}: {type(error).__name__}") from error


def _named_only(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Credentials that stand in the address, and no others: a .netrc has not been asked for."""
    from requests.auth import HTTPBasicAuth
    from requests.utils import get_auth_from_url

    user, password = get_auth_from_url(request.url or "")
    return HTTPBasicAuth(user, password)(request) if user else request


def _body(answer: requests.Response, largest: int, place: str) -> bytes:
    content, ends = bytearray(), time.monotonic() + _LONGEST
    for chunk in answer.iter_content(_CHUNK):
        content += chunk
        if len(content) > largest:
            break
        if time.monotonic() > ends:
            raise InfrastructureError(f"{place}: not read within {_LONGEST:g} s")
    return bytes(content[: largest + 1])


def _printable(address: str) -> str:
    """Without credentials and query, in which a signature may stand."""
    from pipeline.model.paths import printable

    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return printable(f"{scheme}://{host.rpartition('@')[2]}{slash}{path.partition('?')[0]}")
