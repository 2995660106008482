"""Signed statements: DSSE envelopes, made and verified by securesystemslib, which is imported only where one is.

A file name that fits its bytes tells an accident from intent; only a signature tells who wrote them.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.evidence.sigstore_bundle import bundle_reader
from pipeline.evidence.witness import Witness, WrongSignature

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from securesystemslib.signer import CryptoSigner, SSlibKey

    from pipeline.evidence.sigstore_bundle import BundleReader
    from pipeline.model.terms import EvidenceTerms

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_REMEDY = "install cubingate[signing]"
_MAKE_KEY = "openssl genpkey -algorithm ed25519"


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
    """Whose word counts: public keys, and the identities of sigstore bundles."""

    keys: tuple[SSlibKey, ...] = ()
    bundles: BundleReader | None = None


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


def trusted(terms: EvidenceTerms) -> Keyring | None:
    """Whose signatures ``terms`` trust, ``None`` for nobody's; ``UsageError`` as for ``keyring``."""
    if not terms.keys and not terms.identities:
        return None
    keys = keyring(terms.keys).keys if terms.keys else ()
    return Keyring(keys, bundle_reader(terms))


def signed(payload: bytes, key: SigningKey) -> bytes:
    """The envelope around ``payload``, signed."""
    from securesystemslib.dsse import Envelope

    sealed = Envelope(payload, PAYLOAD_TYPE, {})
    sealed.sign(key.signer)
    return json.dumps(sealed.to_dict(), indent=1).encode()


def opened(content: bytes, ring: Keyring | None) -> tuple[Any, tuple[Witness, ...]]:
    """The statement in ``content`` (bare, in an envelope, or in a sigstore bundle), and who signed it.

    ``WrongSignature`` when a key of the ring is named and its signature does not fit, or a bundle does not verify;
    ``ValueError`` and its like when it is no envelope. Where nobody is trusted, nobody is asked.
    """
    written = json.loads(content)
    if "mediaType" in written:
        if ring is None or ring.bundles is None:
            return _payload(written["dsseEnvelope"]), ()
        statement, witness = ring.bundles.statement(content)
        return statement, (witness,)
    if "payloadType" not in written:
        return written, ()
    return _payload(written), _signers(written, ring) if ring is not None else ()


def _payload(written: Any) -> Any:
    if written["payloadType"] != PAYLOAD_TYPE:
        raise ValueError(f"an envelope around {written['payloadType']!r}")
    return json.loads(base64.b64decode(written["payload"], validate=True))


def _signers(written: Any, ring: Keyring) -> tuple[Witness, ...]:
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
                raise WrongSignature(f"evidence carries a signature that does not fit: key {key.keyid[:12]}") from error
            found.append(Witness(str(key.keyid), trusted=True))
    return tuple(found)


def _libraries() -> tuple[Any, Any]:
    try:
        import securesystemslib.signer as crypto
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise UsageError("signatures need securesystemslib and cryptography", remedy=_REMEDY) from error
    return crypto, serialization
