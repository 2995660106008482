"""Sigstore bundles: who signed what, verified without a network by the library sigstore, imported only where one is.

Certificate chain, certificate log, transparency log, times and signature are the library's to judge; whether the one
who signed is trusted is for matrix.yaml to say.
"""

from __future__ import annotations

import importlib.resources
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.evidence.witness import Witness, WrongSignature
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cryptography.x509 import Certificate
    from sigstore.models import Bundle, TrustedRoot
    from sigstore.verify import Verifier
    from sigstore.verify.policy import VerificationPolicy

    from pipeline.model.terms import EvidenceTerms, SigstoreIdentity

SUFFIX = ".sigstore.json"
"""How a file beside records is named that holds a bundle."""

_STATEMENTS = ("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1")
_PAYLOAD_TYPE = "application/vnd.in-toto+json"
_PUBLIC_ROOT = ("_store", "https%3A%2F%2Ftuf-repo-cdn.sigstore.dev", "trusted_root.json")
_REMEDY = "install cubingate[sigstore]"


@dataclass(frozen=True, slots=True)
class BundleReader:
    """Verifies bundles against one trusted root, and knows whose count."""

    verifier: Verifier
    identities: tuple[SigstoreIdentity, ...]

    def statement(self, written: bytes) -> tuple[Any, Witness]:
        """The in-toto statement that a bundle holds, and who signed it; ``WrongSignature`` when it does not verify."""
        try:
            bundle = _parsed(written)
            kind, payload = self.verifier.verify_dsse(bundle, _Whoever())
            if kind != _PAYLOAD_TYPE:
                raise WrongSignature(f"sigstore bundle around {printable(kind)}")
            return json.loads(payload), self._witness(bundle.signing_certificate)
        except _unverified() as error:
            raise _does_not_verify(error) from error

    def about(self, written: bytes, sha256: str) -> Witness:
        """Who signed the file with this digest; ``WrongSignature`` when the bundle is about another, or not sound."""
        if "messageSignature" not in _keys(written):
            subjects, witness = self.subjects(written)
            if sha256 not in subjects:
                raise WrongSignature("sigstore bundle is about other bytes")
            return witness
        from sigstore.hashes import HashAlgorithm, Hashed

        try:
            bundle = _parsed(written)
            digest = Hashed(algorithm=HashAlgorithm.SHA2_256, digest=bytes.fromhex(sha256))
            self.verifier.verify_artifact(digest, bundle, _Whoever())
            return self._witness(bundle.signing_certificate)
        except _unverified() as error:
            raise _does_not_verify(error) from error

    def subjects(self, written: bytes) -> tuple[frozenset[str], Witness]:
        """The SHA-256 of all that the statement in a bundle is about, and who signed it; ``WrongSignature``."""
        statement, witness = self.statement(written)
        try:
            known = statement["_type"] in _STATEMENTS
            digests = frozenset(str(subject["digest"]["sha256"]) for subject in statement["subject"])
        except (KeyError, TypeError, AttributeError) as error:
            raise WrongSignature("sigstore bundle holds no in-toto statement about SHA-256 digests") from error
        if not known:
            raise WrongSignature(f"sigstore bundle holds a statement of type {printable(str(statement['_type']))}")
        return digests, witness

    def _witness(self, certificate: Certificate) -> Witness:
        names = list(_names(certificate))
        for identity in self.identities:
            for name in names:
                if _fits(identity.identity, name) and _vouched(certificate, name, identity):
                    return Witness(printable(name), trusted=True)
        return Witness(printable(_described(certificate, names)), trusted=False)


def bundle_reader(terms: EvidenceTerms) -> BundleReader | None:
    """What reads the bundles that ``terms`` trust, ``None`` where they trust none.

    ``UsageError`` when the library is not installed, or the trusted root is none.
    """
    if not terms.identities:
        return None
    try:
        from sigstore.verify import Verifier
    except ImportError as error:
        raise UsageError("sigstore bundles need the library sigstore", remedy=_REMEDY) from error
    where = terms.trusted_root
    try:
        root = _public_root() if where is None else _root(where)
        return BundleReader(Verifier(trusted_root=root), terms.identities)
    except OSError as error:
        raise UsageError(f"cannot read the trusted root: {where or 'of sigstore'}: {error.strerror}") from error
    except _unverified() as error:
        raise UsageError(f"{where or 'what sigstore carries'} is no trusted root of sigstore") from error


def _public_root() -> TrustedRoot:
    """The root of the public service, as the installed library carries it: no cache of this machine is asked."""
    packed = importlib.resources.files("sigstore").joinpath(*_PUBLIC_ROOT)
    with importlib.resources.as_file(packed) as path:
        return _root(path)


def _root(path: Path) -> TrustedRoot:
    from sigstore.models import TrustedRoot

    return TrustedRoot.from_file(str(path))


def _parsed(written: bytes) -> Bundle:
    from sigstore.models import Bundle

    return Bundle.from_json(written)


def _keys(written: bytes) -> frozenset[str]:
    try:
        return frozenset(json.loads(written))
    except (ValueError, TypeError, RecursionError) as error:
        raise WrongSignature("sigstore bundle is damaged: no JSON") from error


class _Whoever:
    """Accepts every certificate that the library does: who it is for is asked when all else is known to be sound."""

    def verify(self, cert: Certificate) -> None:
        """See ``VerificationPolicy``."""


def _names(certificate: Certificate) -> Iterator[str]:
    """The addresses for which the authority issued the certificate."""
    from cryptography import x509

    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    yield from names.get_values_for_type(x509.UniformResourceIdentifier)
    yield from names.get_values_for_type(x509.RFC822Name)


def _fits(wanted: str, name: str) -> bool:
    return name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted


def _vouched(certificate: Certificate, name: str, identity: SigstoreIdentity) -> bool:
    """Whether the certificate is ``name``'s, from that issuer and for that repository, as the library judges it."""
    from sigstore.errors import VerificationError
    from sigstore.verify import policy

    asked: list[VerificationPolicy] = [
        policy.Identity(identity=name),
        policy.AnyOf([policy.OIDCIssuerV2(identity.issuer), policy.OIDCIssuer(identity.issuer)]),
    ]
    if identity.repository is not None:
        asked.append(policy.OIDCSourceRepositoryURI(identity.repository))
    try:
        policy.AllOf(asked).verify(certificate)
    except VerificationError:
        return False
    return True


def _described(certificate: Certificate, names: Sequence[str]) -> str:
    """All by which a trusted identity could differ from this one."""
    from sigstore.verify.policy import OIDCIssuer, OIDCIssuerV2, OIDCSourceRepositoryURI

    claims = {each.oid: each.value.public_bytes() for each in certificate.extensions}
    told = ", ".join(names) or "nobody"
    if OIDCIssuerV2.oid in claims:
        told += f", says {_text(claims[OIDCIssuerV2.oid])}"
    elif OIDCIssuer.oid in claims:  # which older certificates have alone, as bare text
        told += f", says {claims[OIDCIssuer.oid].decode('utf-8', 'replace')}"
    if OIDCSourceRepositoryURI.oid in claims:
        told += f", for {_text(claims[OIDCSourceRepositoryURI.oid])}"
    return told


def _text(encoded: bytes) -> str:
    from cryptography.hazmat import asn1

    return asn1.decode_der(str, encoded)


def _unverified() -> tuple[type[Exception], ...]:
    """What the library raises for bundles that are not sound; for some that are malformed it has no name of its own."""
    from cryptography import exceptions, x509
    from sigstore.errors import Error

    malformed = (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError, OverflowError)
    certificates = (x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
    return (Error, *malformed, *certificates, exceptions.UnsupportedAlgorithm, exceptions.InvalidSignature)


def _does_not_verify(error: Exception) -> WrongSignature:
    told = " ".join(str(error).split()).partition(" [type=")[0] or type(error).__name__  # behind it stands the input
    return WrongSignature(f"sigstore bundle does not verify: {printable(told)[:300]}")
