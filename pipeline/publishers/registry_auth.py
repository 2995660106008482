"""How a registry is told who asks: Basic, or a Bearer token that is fetched where its challenge says.

Source: distribution's "Token Authentication Specification"; RFC 9110, section 11.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipeline.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import requests

_TIMEOUT = (10.0, 60.0)  # seconds to connect, seconds without a byte
_LARGEST = 1 << 20  # bytes of a token service's answer
_REMEDY = "set REGISTRY_USERNAME and REGISTRY_PASSWORD to those of somebody who may push there"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who asks. The password never shows in a representation."""

    username: str
    password: str = field(repr=False)

    @property
    def basic(self) -> str:
        """The value of an ``Authorization`` header."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode("ascii")


class Authorization:
    """What is sent to one registry: nothing until it asks, then what it asked for, anew whenever it asks again."""

    def __init__(self, credentials: Credentials | None, scopes: Sequence[str], *, plain: bool) -> None:
        self._credentials = credentials
        self._scopes = tuple(scopes)
        self._plain = plain
        self.header: str | None = None

    def renew(self, session: requests.Session, challenge: str) -> None:
        """Answer a 401. ``UsageError`` where nothing can: no credentials, or ones that the registry does not take."""
        from requests.utils import parse_dict_header

        scheme, _, rest = challenge.partition(" ")
        if scheme.lower() == "bearer":
            asked = {name.lower(): value or "" for name, value in parse_dict_header(rest).items()}  # type: ignore[no-untyped-call]
            self.header = f"Bearer {self._token(session, asked)}"
        elif scheme.lower() == "basic":
            self.header = self._needed().basic
        else:
            raise InfrastructureError("the registry asks for an authentication other than Basic and Bearer")

    def _token(self, session: requests.Session, asked: dict[str, str]) -> str:
        import requests

        realm = asked.get("realm", "")
        # Credentials go where the registry says, as docker login's do, but never in the clear by its word.
        if not realm.startswith("https://") and not (self._plain and realm.startswith("http://")):
            raise InfrastructureError("the registry names no https address to fetch a token from")
        query = [("scope", scope) for scope in self._scopes]
        query += [("service", asked["service"])] if asked.get("service") else []
        headers = {"Authorization": self._credentials.basic} if self._credentials else {}
        try:
            with session.get(
                realm, params=query, headers=headers, timeout=_TIMEOUT, allow_redirects=False, stream=True
            ) as answer:
                told = _document(answer) if answer.status_code == 200 else {}
        except (requests.RequestException, ValueError, RecursionError) as error:
            kind = type(error).__name__
            raise InfrastructureError(f"the registry's token service fails: {kind}", remedy="publish again") from None
        if answer.status_code in {400, 401, 403}:
            raise UsageError(f"the registry's token service answers {answer.status_code}", remedy=_REMEDY)
        token = told.get("token") or told.get("access_token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise InfrastructureError(f"the registry's token service answers {answer.status_code} and no token")
        return token

    def _needed(self) -> Credentials:
        if self._credentials is None:
            raise UsageError("the registry asks for a user name and a password", remedy=_REMEDY)
        return self._credentials


def _document(answer: requests.Response) -> dict[str, Any]:
    """A small JSON object; empty for any other; ``ValueError`` for anything else."""
    content = b""
    for piece in answer.iter_content(1 << 16):
        content += piece
        if len(content) > _LARGEST:
            raise ValueError("larger than any token")
    told = json.loads(content)
    return told if isinstance(told, dict) else {}
