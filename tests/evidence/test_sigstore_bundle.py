"""Sigstore bundles: one that verifies and is by a trusted identity counts, and nothing that is nearly one."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import socket
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from pipeline.errors import UsageError
from pipeline.evidence.sigstore_bundle import BundleReader, bundle_reader
from pipeline.evidence.witness import Witness, WrongSignature
from pipeline.model.terms import EvidenceTerms, SigstoreIdentity
from tests.evidence.sigstore_service import GITHUB, REPOSITORY, SIGNED, WORKFLOW, Service, Signer, b64

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT = b"a record"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
RECORDED = Path(__file__).resolve().parents[1] / "data" / "sigstore"
SHARED_WORKFLOW = "https://github.com/bdehamer/workflows/.github/workflows/attest.yml@refs/heads/main"
CALLER = "https://github.com/malancas/attest-demo"
RFC8785 = "https://github.com/trailofbits/rfc8785.py/.github/workflows/release.yml@refs/tags/v0.1.2"
RFC8785_WHEEL = "c4e92e9ecc828bef2aa7dba1de8ac983511f7532a0df11c770d39099a25cf201"


def statement(*digests: str, kind: str = "https://in-toto.io/Statement/v1") -> bytes:
    subjects = [{"name": "record.json", "digest": {"sha256": digest}} for digest in digests]
    return json.dumps({"_type": kind, "subject": subjects, "predicateType": "urn:any", "predicate": {}}).encode()


@pytest.fixture(scope="module")
def service() -> Service:
    return Service()


@pytest.fixture(scope="module")
def root(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return service.trusted_root(tmp_path_factory.mktemp("root") / "trusted_root.json")


def reader(root: Path | None, *identities: SigstoreIdentity) -> BundleReader:
    trusted = identities or (SigstoreIdentity(WORKFLOW, GITHUB),)
    found = bundle_reader(EvidenceTerms(identities=trusted, trusted_root=root))
    assert found is not None
    return found


def written(bundle: dict[str, Any]) -> bytes:
    return json.dumps(bundle).encode()


@pytest.mark.parametrize("made", [lambda s: s.statement(statement("f" * 64, DIGEST)), lambda s: s.file(CONTENT)])
def test_a_bundle_by_the_trusted_workflow_is_about_these_bytes(
    service: Service, root: Path, made: Callable[[Service], dict[str, Any]]
) -> None:
    assert reader(root).about(written(made(service)), DIGEST) == Witness(WORKFLOW, trusted=True)


@pytest.mark.parametrize(
    ("trusted", "counts"),
    [
        (SigstoreIdentity(WORKFLOW, GITHUB, REPOSITORY), True),
        (SigstoreIdentity(WORKFLOW.replace("v1", "*"), GITHUB), True),
        (SigstoreIdentity(WORKFLOW.replace("v1", "v2"), GITHUB), False),
        (SigstoreIdentity(WORKFLOW.replace("tags/v1", "heads/*"), GITHUB), False),
        (SigstoreIdentity(WORKFLOW.replace("acme", "evil"), GITHUB), False),
        (SigstoreIdentity(WORKFLOW.removesuffix("1"), GITHUB), False),
        (SigstoreIdentity(WORKFLOW, "https://issuer.example.org"), False),
        (SigstoreIdentity(WORKFLOW, GITHUB, "https://github.com/acme/other"), False),
    ],
)
def test_identity_issuer_and_repository_must_all_be_named(
    service: Service, root: Path, trusted: SigstoreIdentity, *, counts: bool
) -> None:
    for bundle in (service.statement(statement(DIGEST)), service.file(CONTENT)):
        witness = reader(root, trusted).about(written(bundle), DIGEST)
        assert witness.trusted is counts
        told = WORKFLOW if counts else f"{WORKFLOW}, says {GITHUB}, for {REPOSITORY}"
        assert witness.name == told


def test_a_person_is_known_by_an_address(service: Service, root: Path) -> None:
    ops = Signer(identity="ops@example.org", issuer="https://accounts.example.org")
    bundle = written(service.file(CONTENT, ops))
    assert reader(root, SigstoreIdentity(ops.identity, ops.issuer)).about(bundle, DIGEST).trusted
    assert not reader(root).about(bundle, DIGEST).trusted


def entry(bundle: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = bundle["verificationMaterial"]["tlogEntries"][0]
    return found


def _edit_payload(bundle: dict[str, Any]) -> None:
    if "dsseEnvelope" in bundle:
        payload = base64.b64decode(bundle["dsseEnvelope"]["payload"])
        bundle["dsseEnvelope"]["payload"] = b64(payload.replace(b"record", b"rekord"))
    else:
        bundle["messageSignature"]["messageDigest"]["digest"] = b64(bytes(32))


def _edit_certificate(bundle: dict[str, Any]) -> None:
    certificate = bundle["verificationMaterial"]["certificate"]
    der = base64.b64decode(certificate["rawBytes"])
    certificate["rawBytes"] = b64(der.replace(b"acme", b"evil"))


def _edit_proof(bundle: dict[str, Any]) -> None:
    entry(bundle)["inclusionProof"]["hashes"] = [b64(bytes(32))]


SPOILED: tuple[tuple[Callable[[dict[str, Any]], object], str], ...] = (
    (_edit_payload, "does not verify"),
    (_edit_certificate, "chain"),
    (lambda bundle: bundle["verificationMaterial"].update(tlogEntries=[]), "exactly one log entry"),
    (lambda bundle: bundle["verificationMaterial"].pop("tlogEntries"), "does not verify"),
    (lambda bundle: entry(bundle).pop("inclusionProof"), "inclusionProof Field required"),
    (lambda bundle: entry(bundle).pop("inclusionPromise"), "inclusion promise"),
    (lambda bundle: entry(bundle).update(integratedTime=str(int(SIGNED.timestamp()) + 60)), "log entry"),
    (_edit_proof, "inclusion proof"),
    (lambda bundle: entry(bundle).update(canonicalizedBody=b64(b"{}")), "root hash"),
    (lambda bundle: bundle["verificationMaterial"].pop("certificate"), "certificate"),
    (lambda bundle: bundle.update(mediaType="application/vnd.wishes+json"), "mediaType"),
    (lambda bundle: bundle.clear(), "does not verify"),
)


@pytest.mark.parametrize(("spoil", "said"), SPOILED)
@pytest.mark.parametrize("made", ["statement", "file"])
def test_what_was_changed_in_a_bundle_is_named(
    service: Service, root: Path, made: str, spoil: Callable[[dict[str, Any]], object], said: str
) -> None:
    bundle = service.statement(statement(DIGEST)) if made == "statement" else service.file(CONTENT)
    spoil(bundle)
    with pytest.raises(WrongSignature, match=said):
        reader(root).about(written(bundle), DIGEST)


@pytest.mark.parametrize(
    ("kind", "version", "said"),
    [
        ("intoto", "0.0.2", "only supported for dsse/hashedrekord"),  # as npm's provenance has it
        ("hashedrekord", "0.0.1", "Unsupported DSSE log entry type: hashedrekord/0.0.1"),
        ("dsse", "0.0.2", "only supported for dsse/hashedrekord"),
        ("dsse", "0.0.9", "Expected log entry version"),
    ],
)
def test_a_log_entry_of_a_kind_that_the_library_cannot_verify_is_named(
    service: Service, root: Path, kind: str, version: str, said: str
) -> None:
    bundle = service.statement(statement(DIGEST))
    entry(bundle)["kindVersion"] = {"kind": kind, "version": version}
    with pytest.raises(WrongSignature, match=said):
        reader(root).about(written(bundle), DIGEST)


def test_a_log_entry_of_another_bundle_is_named(service: Service, root: Path) -> None:
    """CVE-2022-36056: an entry that is in the log, and about something else."""
    for one, other in (
        (service.file(CONTENT), service.file(b"other")),
        (service.statement(statement(DIGEST)), service.statement(statement("f" * 64))),
    ):
        one["verificationMaterial"]["tlogEntries"] = other["verificationMaterial"]["tlogEntries"]
        with pytest.raises(WrongSignature, match=r"inconsistent|does not match"):
            reader(root).about(written(one), DIGEST)


@pytest.mark.parametrize(
    ("signer", "said"),
    [
        (Signer(since=SIGNED - timedelta(minutes=11)), "certificate"),
        (Signer(since=SIGNED + timedelta(seconds=1)), "certificate"),
        (Signer(usage=ExtendedKeyUsageOID.SERVER_AUTH), "code signing"),
    ],
    ids=["after its certificate ended", "before its certificate began", "a certificate for something else"],
)
def test_a_signature_outside_of_what_its_certificate_is_for_is_named(
    service: Service, root: Path, signer: Signer, said: str
) -> None:
    for bundle in (service.file(CONTENT, signer), service.statement(statement(DIGEST), signer)):
        with pytest.raises(WrongSignature, match=said):
            reader(root).about(written(bundle), DIGEST)


@pytest.mark.parametrize("part", ["authority", "certificate_log", "log"])
def test_another_service_vouches_for_nobody(service: Service, root: Path, part: str) -> None:
    foreign = replace(service, **{part: getattr(Service(), part)})
    with pytest.raises(WrongSignature, match="does not verify"):
        reader(root).about(written(foreign.file(CONTENT)), DIGEST)


def test_a_bundle_about_other_bytes_is_named(service: Service, root: Path) -> None:
    with pytest.raises(WrongSignature, match="about other bytes"):
        reader(root).about(written(service.statement(statement("f" * 64))), DIGEST)
    with pytest.raises(WrongSignature, match="digest mismatch"):
        reader(root).about(written(service.file(b"other")), DIGEST)


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (statement(DIGEST, kind="https://in-toto.io/Statement/v9"), "of type https://in-toto.io/Statement/v9"),
        (b'{"subject": []}', "no in-toto statement"),
        (b"[1]", "no in-toto statement"),
        (b'{"_type": "https://in-toto.io/Statement/v1", "subject": [{"digest": {"sha512": "0"}}]}', "no in-toto"),
        (b"rubbish", "does not verify"),
    ],
)
def test_a_statement_about_no_digests_is_named(service: Service, root: Path, payload: bytes, said: str) -> None:
    with pytest.raises(WrongSignature, match=said):
        reader(root).about(written(service.statement(payload)), DIGEST)


@pytest.mark.parametrize("content", [b"", b"rubbish", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"messageSignature": 1}'])
def test_what_is_no_bundle_is_named(root: Path, content: bytes) -> None:
    with pytest.raises(WrongSignature):
        reader(root).about(content, DIGEST)


def test_no_damage_is_accepted_and_none_is_a_traceback(service: Service, root: Path) -> None:
    """A byte changed anywhere: the bundle is refused by name, or it is still about these bytes and by this workflow."""
    sound, chance = reader(root), random.Random(7)
    for bundle in (written(service.file(CONTENT)), written(service.statement(statement(DIGEST)))):
        for _ in range(150):
            spoiled = bytearray(bundle)
            spoiled[chance.randrange(len(spoiled))] = chance.choice(b'A0{}[]",:\\x')
            try:
                assert sound.about(bytes(spoiled), DIGEST) == Witness(WORKFLOW, trusted=True)
            except WrongSignature:
                continue


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("verification asks nobody")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize(
    ("recorded", "trusted"),
    [
        ("reusable-workflow-attestation.sigstore.json", SigstoreIdentity(SHARED_WORKFLOW, GITHUB, CALLER)),
        ("bundle_v3_github.whl.sigstore.json", SigstoreIdentity(RFC8785.replace("v0.1.2", "v*"), GITHUB)),
    ],
)
@pytest.mark.usefixtures("offline")
def test_recorded_public_bundles_verify_with_the_public_root(recorded: str, trusted: SigstoreIdentity) -> None:
    content = (RECORDED / recorded).read_bytes()
    digest = RFC8785_WHEEL if "whl" in recorded else "07e4b8c0e3580b3e4a1eb62c70f1ffb86004d3d94f50767cb404fa7a639b4d05"
    assert reader(None, trusted).about(content, digest).trusted
    for stranger in (replace(trusted, issuer="https://example.org"), replace(trusted, repository=REPOSITORY)):
        assert not reader(None, stranger).about(content, digest).trusted
    with pytest.raises(WrongSignature, match=r"other bytes|digest mismatch"):
        reader(None, trusted).about(content, DIGEST)
    for spoil, _ in SPOILED:
        bundle = json.loads(content)
        before = json.dumps(bundle)
        spoil_anyway(spoil, bundle)
        if json.dumps(bundle) != before:
            with pytest.raises(WrongSignature):
                reader(None, trusted).about(written(bundle), digest)


def spoil_anyway(spoil: Callable[[dict[str, Any]], object], bundle: dict[str, Any]) -> None:
    """The older form has its certificate in a chain."""
    try:
        spoil(bundle)
    except KeyError:
        bundle["verificationMaterial"]["x509CertificateChain"]["certificates"][0]["rawBytes"] = b64(bytes(64))


def test_a_reusable_workflow_is_known_by_who_called_it() -> None:
    """Everybody may call it: its own address alone says nothing about whose records it signed."""
    content = (RECORDED / "reusable-workflow-attestation.sigstore.json").read_bytes()
    _, witness = reader(None, SigstoreIdentity(SHARED_WORKFLOW, GITHUB, REPOSITORY)).subjects(content)
    assert witness == Witness(f"{SHARED_WORKFLOW}, says {GITHUB}, for {CALLER}", trusted=False)


def test_a_bundle_of_the_public_service_means_nothing_to_another_root(root: Path) -> None:
    content = (RECORDED / "bundle_v3_github.whl.sigstore.json").read_bytes()
    with pytest.raises(WrongSignature, match="does not verify"):
        reader(root).about(content, RFC8785_WHEEL)


def test_without_identities_nothing_is_read() -> None:
    assert bundle_reader(EvidenceTerms(trusted_root=Path("absent"))) is None


@pytest.mark.parametrize("content", [None, b"", b"rubbish", b"{}", b'{"mediaType": "application/vnd.wishes+json"}'])
def test_what_is_no_trusted_root_is_a_mistake(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "trusted_root.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match="trusted root"):
        reader(file)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sigstore.verify", None)
    with pytest.raises(UsageError, match=r"cubingate\[sigstore\]"):
        reader(None)
