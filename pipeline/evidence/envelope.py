"""Signed statements: DSSE envelopes, made and verified by securesystemslib, which is imported only where one is.

A file name that fits its bytes tells an accident from intent; only a signature tells who wrote them.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from securesystemslib.signer import CryptoSigner, SSlibKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_REMEDY = "install cubingate[signing]"
_MAKE_KEY = "openssl genpkey -algorithm ed25519"


class WrongSignature(Exception):
    """A signature by a key that is trusted, and that these bytes do not fit."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and its name, the key id."""

    signer: CryptoSigner

    @property
    def id(self) -> str:
        """The key id, as signatures name it."""
        return str(self.signer.public_key.keyid)


@dataclass(frozen=True, slots=True)
class Keyring:
    """The public keys whose word counts."""

    keys: tuple[SSlibKey, ...]


def signing_key(path: Path) -> SigningKey:
    """Read an unencrypted private key (PEM); ``UsageError`` when it is none, or the library is not installed."""
    crypto, serialization = _libraries()
    try:
        private = serialization.load_pem_private_key(path.read_bytes(), password=None)
        return SigningKey(crypto.CryptoSigner(private))
    except OSError as error:
        raise UsageError(f"cannot read the signing key: {path}: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path} is no unencrypted private key", remedy=_MAKE_KEY) from error


def keyring(paths: Iterable[Path]) -> Keyring:
    """Read public keys (PEM); ``UsageError`` when one is none, or the library is not installed."""
    crypto, serialization = _libraries()
    keys = []
    for path in paths:
        try:
            keys.append(crypto.SSlibKey.from_crypto(serialization.load_pem_public_key(path.read_bytes())))
        except OSError as error:
            raise UsageError(f"cannot read a public key: {path}: {error.strerror}") from error
        except (ValueError, TypeError) as error:
            raise UsageError(f"{path} is no public key", remedy="openssl pkey -in KEY -pubout") from error
    return Keyring(tuple(keys))


def signed(payload: bytes, key: SigningKey) -> bytes:
    """The envelope around ``payload``, signed."""
    from securesystemslib.dsse import Envelope

    sealed = Envelope(payload, PAYLOAD_TYPE, {})
    sealed.sign(key.signer)
    return json.dumps(sealed.to_dict(), indent=1).encode()


def opened(written: Any, ring: Keyring | None) -> tuple[Any, tuple[str, ...]]:
    """The statement in ``written``, an envelope or a bare one, and the ids of the keys of ``ring`` that signed it.

    ``WrongSignature`` when a key of the ring is named and its signature does not fit; ``ValueError`` and its like
    when it is no envelope. What is signed by others is as good as unsigned.
    """
    if "payloadType" not in written:
        return written, ()
    if written["payloadType"] != PAYLOAD_TYPE:
        raise ValueError(f"an envelope around {written['payloadType']!r}")
    payload = json.loads(base64.b64decode(written["payload"], validate=True))
    return payload, _signers(written, ring) if ring is not None else ()


def _signers(written: Any, ring: Keyring) -> tuple[str, ...]:
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import FormatError, UnverifiedSignatureError

    try:
        sealed = Envelope.from_dict(written)
    except FormatError as error:
        raise ValueError(f"no envelope: {error}") from error
    found = []
    for key in ring.keys:
        if key.keyid in sealed.signatures:
            try:
                key.verify_signature(sealed.signatures[key.keyid], sealed.pae())
            except UnverifiedSignatureError as error:
                raise WrongSignature(f"key {key.keyid[:12]}") from error
            found.append(str(key.keyid))
    return tuple(found)


def _libraries() -> tuple[Any, Any]:
    try:
        import securesystemslib.signer as crypto
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise UsageError("signatures need securesystemslib and cryptography", remedy=_REMEDY) from error
    return crypto, serialization
