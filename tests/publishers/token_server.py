"""A token service as registries refer to: it signs what ``docker-registry`` checks, and keeps what it was asked.

Source: distribution's "Token Authentication Implementation" (JWT with ``x5c``, RFC 7515).
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlparse

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVICE, ISSUER = "registry.test", "cubingate-tests"


@dataclass
class Tokens:
    """The service: the one who may push, the lifetimes (seconds) of the next tokens, and what was asked."""

    basic: str
    lifetimes: list[int] = field(default_factory=list)
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    answer: tuple[int, bytes] | None = None
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    port: int = 0

    def __post_init__(self) -> None:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, ISSUER)])
        start = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(self.key.public_key())
        builder = builder.serial_number(1).not_valid_before(start).not_valid_after(start + dt.timedelta(days=9))
        self.certificate = builder.sign(self.key, hashes.SHA256())

    def settings(self, folder: Path) -> dict[str, Any]:
        """``auth.token`` of the registry's configuration."""
        bundle = folder / "root.pem"
        bundle.write_bytes(self.certificate.public_bytes(Encoding.PEM))
        realm = f"http://127.0.0.1:{self.port}/token"
        return {"token": {"realm": realm, "service": SERVICE, "issuer": ISSUER, "rootcertbundle": str(bundle)}}

    def token(self, query: dict[str, list[str]], *, known: bool) -> str:
        """What the asked scopes allow to somebody who is known, and reading to anybody."""
        lifetime = self.lifetimes.pop(0) if self.lifetimes else 300
        now = int(time.time())
        # Registries allow a minute of skew: a token that is expired has to be so for longer.
        claims = {"iss": ISSUER, "sub": "pusher", "aud": SERVICE, "exp": now + lifetime, "nbf": now - 900, "iat": now}
        claims["access"] = [_allowed(scope, known=known) for scope in query.get("scope", [])]
        chain = [base64.b64encode(self.certificate.public_bytes(Encoding.DER)).decode()]
        head = {"typ": "JWT", "alg": "RS256", "x5c": chain}
        signed = f"{_part(head)}.{_part(claims)}"
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        self.given.append(f"{signed}.{_encoded(signature)}")
        return self.given[-1]


class _Service(BaseHTTPRequestHandler):
    tokens: Tokens

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        query = parse_qs(urlparse(self.path).query)
        said = self.headers.get("Authorization", "")
        self.tokens.asked.append((said, query))
        status, content = self.tokens.answer or (200, b"")
        if said not in {"", self.tokens.basic}:
            status, content = 401, b"{}"
        elif not content:
            content = json.dumps({"token": self.tokens.token(query, known=bool(said))}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving(tokens: Tokens) -> Iterator[Tokens]:
    """Serve on loopback while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Service,), {"tokens": tokens}))
    server.daemon_threads = True
    tokens.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield tokens
    finally:
        server.shutdown()
        server.server_close()


def _allowed(scope: str, *, known: bool) -> dict[str, Any]:
    kind, name, actions = scope.split(":")
    return {"type": kind, "name": name, "actions": actions.split(",") if known else ["pull"]}


def _part(content: dict[str, Any]) -> str:
    return _encoded(json.dumps(content).encode())


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
