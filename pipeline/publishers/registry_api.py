"""The few calls of a registry's HTTP API (OCI distribution-spec 1.1) that a release needs, and what its answers mean.

Written on ``requests``: the library of the field, ``oras`` 0.2, holds every blob whole in memory, asks without a limit
of time, serializes manifests anew while sending them and puts addresses with upload tokens into its messages.
No token and no signed address is ever part of a message: errors name the call, the status and the registry's own code.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin, urlsplit

from pipeline.errors import InfrastructureError, UsageError
from pipeline.publishers.address import is_loopback
from pipeline.publishers.registry_auth import Authorization

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import requests

    from pipeline.publishers.oci import Blob
    from pipeline.publishers.registry_auth import Credentials

T = TypeVar("T")

_TIMEOUT = (10.0, 60.0)  # seconds to connect, seconds without a byte
_PAUSES = (1.0, 4.0, 10.0)  # seconds before each further attempt; every call here may be made twice
_LONGEST_WAIT = 120.0  # seconds that a rate limit may ask for
_CHUNK = 1 << 20
_AGAIN = "publish again: what was sent is kept"
_MANIFEST = 4 << 20  # bytes; what registries take at most
_CODE = re.compile(r"[A-Z][A-Z_]{0,39}", re.ASCII)
_ACCEPT = ", ".join(
    (
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    )
)


@dataclass(frozen=True, slots=True)
class Place:
    """A repository: ``host`` with its port, and the path there. ``plain`` allows http, as loopback hosts always do."""

    host: str
    name: str
    plain: bool = False

    @property
    def scheme(self) -> str:
        """``http`` or ``https``."""
        return "http" if self.plain or is_loopback(self.host) else "https"

    def __str__(self) -> str:
        return f"{self.host}/{self.name}"


class Refusal(Exception):
    """The registry said no to one call."""

    def __init__(self, call: str, status: int, code: str) -> None:
        super().__init__(f"the registry answers {status} to {call}{f': {code}' if code else ''}")
        self.status = status


class Repository:
    """One repository. Calls raise ``Refusal`` for a no, ``InfrastructureError`` when the registry cannot be asked.

    ``scopes`` are what a token must allow: ``repository:NAME:pull,push``.
    """

    def __init__(
        self,
        place: Place,
        credentials: Credentials | None,
        *scopes: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        import requests

        self.place = place
        self._root = f"{place.scheme}://{place.host}/v2/{place.name}/"
        self._sleep = sleep
        self._authorization = Authorization(credentials, scopes, plain=place.scheme == "http")
        self._session = requests.Session()
        self._session.trust_env = False  # a .netrc must not replace the credentials that were asked for
        self._session.headers.update({"User-Agent": "cubingate", "Accept-Encoding": "identity"})

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def check_writable(self) -> None:
        """Begin an upload and give it up: nothing else shows who may push."""

        def begun() -> str:
            return self._location(self._call("POST", "blobs/uploads/", "the start of an upload"))

        address = self._repeated(begun)
        try:
            self._call("DELETE", address, "the end of an upload")
        except (Refusal, InfrastructureError, UsageError):
            return  # it may need another right than pushing does; an upload that is left alone expires

    def manifest(self, reference: str) -> bytes | None:
        """The manifest under a tag or digest, as it is; ``None`` where there is none.

        ``InfrastructureError`` where the bytes under a digest have another one.
        """
        what = f"GET manifest {reference}"
        headers = {"Accept": _ACCEPT}

        def got() -> bytes | None:
            try:
                with self._call("GET", f"manifests/{reference}", what, headers=headers, stream=True) as answer:
                    return b"".join(self._pieces(answer, what, _MANIFEST))
            except Refusal as refusal:
                if refusal.status == 404:
                    return None
                raise

        content = self._repeated(got)
        if content is not None and ":" in reference and _digest(content) != reference:
            raise InfrastructureError(f"the registry hands out other bytes as manifest {reference}")
        return content

    def put_manifest(self, reference: str, content: bytes, media_type: str) -> None:
        """Store a manifest under its digest, or move a tag to it."""
        what, headers = f"PUT manifest {reference}", {"Content-Type": media_type}
        self._repeated(lambda: self._call("PUT", f"manifests/{reference}", what, data=content, headers=headers))

    def has(self, digest: str) -> bool:
        """Whether the registry says that it has a blob."""
        try:
            self._repeated(lambda: self._call("HEAD", f"blobs/{digest}", f"HEAD blob {digest}"))
        except Refusal as refusal:
            if refusal.status == 404:
                return False
            raise
        return True

    def mount(self, digest: str, source: str) -> bool:
        """Take a blob over from another repository of this registry; ``False`` where it does not do that."""
        query = f"blobs/uploads/?mount={digest}&from={source}"
        return self._repeated(lambda: self._call("POST", query, f"mount of {digest}")).status_code == 201

    def send(self, blob: Blob) -> None:
        """Send a blob that is not there yet."""

        def sent() -> None:
            if self.has(blob.digest):  # an earlier attempt, whose answer was lost, did it
                return
            address = self._location(self._call("POST", "blobs/uploads/", "the start of an upload"))
            address += f"{'&' if '?' in address else '?'}digest={blob.digest}"
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(blob.size)}
            with blob.opened() as content:
                self._call("PUT", address, f"PUT blob {blob.digest}", data=content, headers=headers)

        self._repeated(sent)

    def digest_of(self, digest: str, size: int) -> str:
        """The digest of what is downloaded as this blob, however it is called."""

        def got() -> str:
            found = hashlib.sha256()
            for piece in self._blob(digest, size):
                found.update(piece)
            return f"sha256:{found.hexdigest()}"

        return self._repeated(got)

    def download(self, digest: str, size: int, path: Path) -> None:
        """Write a blob to ``path``; ``InfrastructureError`` where it is not what its digest says."""

        def got() -> str:
            found = hashlib.sha256()
            with path.open("wb") as file:
                for piece in self._blob(digest, size):
                    found.update(piece)
                    file.write(piece)
            return f"sha256:{found.hexdigest()}"

        if self._repeated(got) != digest:
            raise InfrastructureError(f"{self.place.host} hands out other bytes as blob {digest}")

    def _blob(self, digest: str, size: int) -> Iterator[bytes]:
        what = f"GET blob {digest}"
        with self._call("GET", f"blobs/{digest}", what, stream=True) as answer:
            yield from self._pieces(answer, what, size)

    def _pieces(self, answer: requests.Response, what: str, most: int) -> Iterator[bytes]:
        """The content, up to a little more than it may be: then it is other bytes, however many there are."""
        import requests

        size = 0
        try:
            for piece in answer.iter_content(_CHUNK):
                yield piece
                size += len(piece)
                if size > most:
                    return
        except requests.RequestException as error:
            raise self._unreachable(what, error) from None

    def _location(self, answer: requests.Response) -> str:
        """Where an upload goes on. Never from https to http."""
        address = urljoin(answer.url, answer.headers.get("Location", ""))
        if not answer.headers.get("Location") or urlsplit(address).scheme not in {"https", self.place.scheme}:
            raise InfrastructureError("the registry does not say where an upload goes")
        return address

    def _repeated(self, call: Callable[[], T]) -> T:
        for pause in _PAUSES:
            try:
                return call()
            except InfrastructureError:
                self._sleep(pause)
            except Refusal as refusal:
                if refusal.status < 500:
                    raise
                self._sleep(pause)
        return call()

    def _call(self, verb: str, path: str, what: str, *, stream: bool = False, **settings: Any) -> requests.Response:
        """One call; a 401 is answered once, with what its challenge asks for. Content is kept where ``stream`` asks."""
        address = urljoin(self._root, path)
        answer = self._ask(verb, address, what, **settings)
        if answer.status_code == 401 and self._is_ours(answer.url):  # and not a store's that the registry referred to
            challenge = answer.headers.get("WWW-Authenticate", "")
            answer.close()
            self._authorization.renew(self._session, challenge)
            content: IO[bytes] | bytes | None = settings.get("data")
            if content is not None and not isinstance(content, bytes):
                content.seek(0)
            answer = self._ask(verb, address, what, **settings)
        if answer.status_code >= 400:
            with answer:
                raise Refusal(what, answer.status_code, self._code(answer, what))
        if not stream:
            with answer:  # its head is the answer; of its content a little, so that the connection serves again
                for _ in self._pieces(answer, what, _CHUNK):
                    pass
        return answer

    def _code(self, answer: requests.Response, what: str) -> str:
        """The registry's own code (``DENIED``); its words may repeat what was asked, credentials included."""
        try:
            code = json.loads(b"".join(self._pieces(answer, what, _CHUNK)))["errors"][0]["code"]
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            return ""
        return code if isinstance(code, str) and _CODE.fullmatch(code) else ""

    def _ask(self, verb: str, address: str, what: str, **settings: Any) -> requests.Response:
        import requests

        headers = dict(settings.pop("headers", {}))
        if self._authorization.header is not None and self._is_ours(address):
            headers["Authorization"] = self._authorization.header
        try:
            answer = self._session.request(verb, address, headers=headers, timeout=_TIMEOUT, stream=True, **settings)
        except requests.RequestException as error:
            raise self._unreachable(what, error) from None
        after = answer.headers.get("Retry-After", "")
        if answer.status_code == 429:
            answer.close()
            self._wait(float(after) if after.isdecimal() else 0.0)
        return answer

    def _wait(self, seconds: float) -> None:
        if seconds > _LONGEST_WAIT:
            raise InfrastructureError(f"the registry's rate limit holds for {seconds:.0f} s", remedy="publish later")
        self._sleep(seconds)
        raise InfrastructureError(
            "the registry's rate limit was reached", remedy="publish again: what was sent is kept"
        )

    def _is_ours(self, address: str) -> bool:
        """Whether an address is the registry's own, and not that of a store which it refers to."""
        parts = urlsplit(address)
        return (parts.scheme, parts.netloc) == (self.place.scheme, self.place.host)

    def _unreachable(self, what: str, error: Exception) -> InfrastructureError:
        """By the kind of error alone: its text may hold a signed address."""
        kind = type(error).__name__
        return InfrastructureError(f"{self.place.host} cannot be reached for {what}: {kind}", remedy="publish again")


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def refused(refusal: Refusal) -> InfrastructureError | UsageError:
    """What a no means for whoever publishes."""
    if refusal.status in {401, 403}:
        return UsageError(str(refusal), remedy="the credentials are expired, or not for pushing to this repository")
    if refusal.status in {400, 404, 405}:
        return UsageError(str(refusal), remedy="check the repository's name, and that the credentials may see it")
    return InfrastructureError(str(refusal), remedy=_AGAIN)
