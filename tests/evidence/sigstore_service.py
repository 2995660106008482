"""A sigstore service of the tests' own: certificate authority, certificate log and transparency log, and its root.

A stand-in for the public one, whose private keys nobody has. What it makes is in the public formats, and is held
against them by the library that verifies; what each part of a bundle says can be spoiled.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from pathlib import Path

SIGNED = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
WORKFLOW = "https://github.com/acme/server/.github/workflows/release.yml@refs/tags/v1"
GITHUB = "https://token.actions.githubusercontent.com"
REPOSITORY = "https://github.com/acme/server"
_ORIGIN = "log.example.org - 1"
_DAY = timedelta(days=1)
_OID = "1.3.6.1.4.1.57264.1"
_SCT_LIST = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")


def b64(raw: bytes) -> str:
    """As bundles have bytes."""
    return base64.b64encode(raw).decode()


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _spki(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _sign(key: ec.EllipticCurvePrivateKey, message: bytes) -> bytes:
    return key.sign(message, ec.ECDSA(hashes.SHA256()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Whom the authority vouches for, and when: certificates are good for ten minutes, as the public ones are."""

    identity: str = WORKFLOW
    issuer: str = GITHUB
    repository: str = REPOSITORY
    since: datetime = SIGNED - timedelta(minutes=1)
    usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.CODE_SIGNING


@dataclass(frozen=True, slots=True)
class Service:
    """Its three keys, and the authority's own certificate."""

    authority: ec.EllipticCurvePrivateKey = field(default_factory=_key)
    certificate_log: ec.EllipticCurvePrivateKey = field(default_factory=_key)
    log: ec.EllipticCurvePrivateKey = field(default_factory=_key)

    def root_certificate(self) -> x509.Certificate:
        """The authority's certificate, signed by itself."""
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
        public = self.authority.public_key()
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        return (
            x509.CertificateBuilder(name, name, public, 1, SIGNED - _DAY, SIGNED + 365 * _DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self.authority, hashes.SHA256())
        )

    def trusted_root(self, file: Path) -> Path:
        """Write what a verifier needs to know of this service."""
        since = {"start": (SIGNED - _DAY).isoformat().replace("+00:00", "Z")}
        certificate = self.root_certificate().public_bytes(serialization.Encoding.DER)
        root = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [_log(self.log, since)],
            "ctlogs": [_log(self.certificate_log, since)],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "tests", "commonName": "tests"},
                    "uri": "https://ca.example.org",
                    "certChain": {"certificates": [{"rawBytes": b64(certificate)}]},
                    "validFor": since,
                }
            ],
            "timestampAuthorities": [],
        }
        file.write_text(json.dumps(root))
        return file

    def certificate(self, key: ec.EllipticCurvePrivateKey, signer: Signer) -> x509.Certificate:
        """What the authority gives to somebody who showed an identity, with the certificate log's receipt in it."""
        plain = self._builder(key, signer)
        tbs = plain.sign(self.authority, hashes.SHA256()).tbs_certificate_bytes
        receipt = x509.UnrecognizedExtension(_SCT_LIST, self._receipt(tbs, signer))
        return plain.add_extension(receipt, critical=False).sign(self.authority, hashes.SHA256())

    def _builder(self, key: ec.EllipticCurvePrivateKey, signer: Signer) -> x509.CertificateBuilder:
        address = x509.UniformResourceIdentifier(signer.identity)
        name = x509.RFC822Name(signer.identity) if "://" not in signer.identity else address
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key())
        issuer = self.root_certificate().subject
        empty = x509.Name([])
        until = signer.since + timedelta(minutes=10)
        usage = x509.KeyUsage(True, *([False] * 8))  # the first of nine is digital_signature
        built = (
            x509.CertificateBuilder(issuer, empty, key.public_key(), 7, signer.since, until)
            .add_extension(usage, critical=True)
            .add_extension(x509.ExtendedKeyUsage([signer.usage]), critical=False)
            .add_extension(own, critical=False)
            .add_extension(x509.SubjectAlternativeName([name]), critical=True)
        )
        for number, value in ((1, signer.issuer.encode()), (8, _utf8(signer.issuer)), (12, _utf8(signer.repository))):
            extension = x509.UnrecognizedExtension(x509.ObjectIdentifier(f"{_OID}.{number}"), value)
            built = built.add_extension(extension, critical=False)
        return built

    def _receipt(self, tbs: bytes, signer: Signer) -> bytes:
        """One signed certificate timestamp of RFC 6962, in the list that the extension holds."""
        milliseconds = int(signer.since.timestamp() * 1000)
        issuer = hashlib.sha256(_spki(self.authority)).digest()
        entry = struct.pack("!32s", issuer) + len(tbs).to_bytes(3, "big") + tbs
        signature = _sign(self.certificate_log, struct.pack("!BBQH", 0, 0, milliseconds, 1) + entry + b"\0\0")
        log = hashlib.sha256(_spki(self.certificate_log)).digest()
        receipt = struct.pack("!B32sQHBBH", 0, log, milliseconds, 0, 4, 3, len(signature)) + signature
        listed = struct.pack("!HH", len(receipt) + 2, len(receipt)) + receipt
        return b"\x04" + _der_length(len(listed)) + listed

    def statement(self, payload: bytes, signer: Signer | None = None, *, at: datetime = SIGNED) -> dict[str, Any]:
        """A bundle around an in-toto statement, as an attestation action makes it."""
        key = _key()
        kind = "application/vnd.in-toto+json"
        signature = _sign(key, f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload)
        certificate = self.certificate(key, signer or Signer())
        spec = {
            "envelopeHash": {"algorithm": "sha256", "value": hashlib.sha256(b"of other spacing").hexdigest()},
            "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
            "signatures": [{"signature": b64(signature), "verifier": b64(_pem(certificate))}],
        }
        envelope = {"payload": b64(payload), "payloadType": kind, "signatures": [{"sig": b64(signature)}]}
        return {**self._material("dsse", spec, certificate, at), "dsseEnvelope": envelope}

    def file(self, content: bytes, signer: Signer | None = None, *, at: datetime = SIGNED) -> dict[str, Any]:
        """A bundle about a file, as ``sigstore sign`` makes it."""
        key = _key()
        signature, digest = _sign(key, content), hashlib.sha256(content)
        certificate = self.certificate(key, signer or Signer())
        spec = {
            "data": {"hash": {"algorithm": "sha256", "value": digest.hexdigest()}},
            "signature": {"content": b64(signature), "publicKey": {"content": b64(_pem(certificate))}},
        }
        message = {
            "messageDigest": {"algorithm": "SHA2_256", "digest": b64(digest.digest())},
            "signature": b64(signature),
        }
        return {**self._material("hashedrekord", spec, certificate, at), "messageSignature": message}

    def _material(self, kind: str, spec: Any, certificate: x509.Certificate, at: datetime) -> dict[str, Any]:
        body = json.dumps({"apiVersion": "0.0.1", "kind": kind, "spec": spec}, separators=(",", ":")).encode()
        der = certificate.public_bytes(serialization.Encoding.DER)
        return {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": b64(der)},
                "tlogEntries": [self._entry(kind, body, int(at.timestamp()))],
            },
        }

    def _entry(self, kind: str, body: bytes, time: int) -> dict[str, Any]:
        """The only entry of a log: its own hash is the root of the tree."""
        log = hashlib.sha256(_spki(self.log)).digest()
        root = hashlib.sha256(b"\0" + body).digest()
        note = f"{_ORIGIN}\n1\n{b64(root)}\n"
        signed = b64(log[:4] + _sign(self.log, note.encode()))
        promised = {"body": b64(body), "integratedTime": time, "logID": log.hex(), "logIndex": 0}
        promise = json.dumps(promised, separators=(",", ":"), sort_keys=True).encode()
        return {
            "logIndex": "0",
            "logId": {"keyId": b64(log)},
            "kindVersion": {"kind": kind, "version": "0.0.1"},
            "integratedTime": str(time),
            "inclusionPromise": {"signedEntryTimestamp": b64(_sign(self.log, promise))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": b64(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n— log.example.org {signed}\n"},
            },
            "canonicalizedBody": b64(body),
        }


def _log(key: ec.EllipticCurvePrivateKey, since: dict[str, str]) -> dict[str, Any]:
    public = {"rawBytes": b64(_spki(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": since}
    return {
        "baseUrl": "https://log.example.org",
        "hashAlgorithm": "SHA2_256",
        "publicKey": public,
        "logId": {"keyId": b64(hashlib.sha256(_spki(key)).digest())},
    }


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _utf8(text: str) -> bytes:
    return b"\x0c" + _der_length(len(text.encode())) + text.encode()


def _der_length(length: int) -> bytes:
    if length < 128:
        return bytes([length])
    return b"\x81" + bytes([length]) if length < 256 else b"\x82" + length.to_bytes(2, "big")
