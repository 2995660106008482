"""Sigstore bundles around records and beside them: what they sign counts, and what is spoiled is refused."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.evidence import append, read
from pipeline.evidence.envelope import trusted
from pipeline.evidence.statement import statement
from pipeline.gate import judge
from pipeline.model.terms import EvidenceTerms, SigstoreIdentity
from tests.evidence.sigstore_service import GITHUB, WORKFLOW, Service, Signer
from tests.values import TERMS, bundle, cpu_lane, record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.model.artifact import Artifact
    from pipeline.model.evidence import Evidence

NOW = datetime(2026, 1, 2, tzinfo=UTC)
EVIL = WORKFLOW.replace("acme", "evil")


class Yard:
    """A bundle with two records, and a service that signs for the workflow that made them."""

    def __init__(self, folder: Path) -> None:
        self.lane = cpu_lane()
        self.artifact: Artifact = bundle(folder, self.lane)
        self.evidence = folder / "evidence"
        self.subject = self.evidence / self.artifact.sha256
        self.records = [record(self.lane, self.artifact, check) for check in self.lane.required]
        self.files = [append(self.evidence, each) for each in self.records]
        self.service = Service()
        self.terms = EvidenceTerms(
            signed=True,
            identities=(SigstoreIdentity(WORKFLOW, GITHUB),),
            trusted_root=self.service.trusted_root(folder / "root.json"),
        )

    def about(self, *files: Path) -> bytes:
        """What the workflow's step says about these files."""
        subjects = [{"name": file.name, "digest": {"sha256": _sha256(file)}} for file in files]
        said = {"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "urn:x"}
        return json.dumps({**said, "predicate": {}}).encode()

    def attest(self, *files: Path, signer: Signer | None = None, name: str = "job") -> Path:
        """One bundle in the folder of the artifact, about several records."""
        return put(self.subject / f"{name}.sigstore.json", self.service.statement(self.about(*files), signer))

    def sign(self, file: Path, signer: Signer | None = None) -> Path:
        """A bundle beside a record, as ``sigstore sign RECORD`` leaves it."""
        return put(file.with_name(file.name + ".sigstore.json"), self.service.file(file.read_bytes(), signer))

    def wrap(self, number: int, signer: Signer | None = None) -> Path:
        """A record as the statement of a bundle, in place of the bare one."""
        self.files[number].unlink()
        said = json.dumps(statement(self.records[number])).encode()
        return put_record(self.files[number].parent, self.service.statement(said, signer))

    def read(self) -> tuple[Evidence, ...]:
        return read([self.evidence], self.artifact.sha256, now=NOW, keyring=trusted(self.terms))

    def refusals(self) -> dict[str, str]:
        """Why the gate refuses, by check; empty when it approves."""
        verdict = judge(self.lane, self.artifact, self.read(), terms=replace(TERMS, wanted=self.terms))
        return {check.check: check.reason for check in verdict.checks if not check.standing.approves}


def put(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(json.dumps(content))
    return path


def put_record(folder: Path, content: dict[str, Any]) -> Path:
    text = json.dumps(content).encode()
    path = folder / f"wrapped-{hashlib.sha256(text).hexdigest()[:16]}.json"
    path.write_bytes(text)
    return path


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


SIGNINGS: tuple[Callable[[Yard, Signer | None], object], ...] = (
    lambda yard, signer: yard.attest(*yard.files, signer=signer),
    lambda yard, signer: [yard.sign(file, signer) for file in yard.files],
    lambda yard, signer: [yard.wrap(number, signer) for number in range(len(yard.files))],
)
WAYS = pytest.mark.parametrize("sign", SIGNINGS, ids=["shared", "beside", "around"])


@WAYS
def test_what_the_trusted_workflow_signed_counts(yard: Yard, sign: Callable[[Yard, Signer | None], object]) -> None:
    assert set(yard.refusals()) == {"audit", "smoke@cpu"}, "unsigned"
    sign(yard, None)
    assert yard.refusals() == {}
    assert {each.signed_by for each in yard.read()} == {(WORKFLOW,)}


@WAYS
@pytest.mark.parametrize("signer", [Signer(identity=EVIL), Signer(issuer="https://evil.example.org")])
def test_what_another_signed_is_refused_and_they_are_named(
    yard: Yard, sign: Callable[[Yard, Signer | None], object], signer: Signer
) -> None:
    sign(yard, signer)
    for reason in yard.refusals().values():
        assert f"unauthenticated: signed by nobody who is trusted, but by {signer.identity}" in reason
        assert signer.issuer in reason


@WAYS
def test_without_trusted_identities_bundles_make_nothing_authentic(
    yard: Yard, sign: Callable[[Yard, Signer | None], object]
) -> None:
    sign(yard, None)
    found = read([yard.evidence], yard.artifact.sha256, now=NOW)
    assert [(each.signed_by, each.strangers) for each in found] == [((), ())] * 2


def test_a_record_that_the_attestation_does_not_name_is_unsigned(yard: Yard) -> None:
    yard.attest(yard.files[0])
    assert list(yard.refusals()) == ["smoke@cpu"]


def test_several_may_sign_and_one_trusted_is_enough(yard: Yard) -> None:
    yard.attest(*yard.files)
    yard.attest(*yard.files, signer=Signer(identity=EVIL), name="other")
    yard.sign(yard.files[0])
    assert yard.refusals() == {}
    assert all(each.signed_by == (WORKFLOW,) and EVIL in each.strangers[0] for each in yard.read())


def test_a_signature_for_one_record_beside_another_is_corrupt(yard: Yard) -> None:
    signature = yard.sign(yard.files[0])
    signature.rename(yard.files[1].with_name(yard.files[1].name + ".sigstore.json"))
    with pytest.raises(CorruptInput, match="digest mismatch"):
        yard.read()


def test_a_record_about_another_bundle_is_refused_whoever_signed_it(yard: Yard) -> None:
    yard.files[0].unlink()
    said = json.dumps(statement(replace(yard.records[0], subject="f" * 64))).encode()
    put_record(yard.files[0].parent, yard.service.statement(said))
    with pytest.raises(CorruptInput, match="not about"):
        yard.read()


def test_a_record_that_was_taken_away_from_its_signature_is_missed(yard: Yard) -> None:
    yard.sign(yard.files[0])
    yard.files[0].unlink()
    with pytest.raises(CorruptInput, match="lacks a record that was signed"):
        yard.read()


@WAYS
def test_an_edited_bundle_is_corrupt(yard: Yard, sign: Callable[[Yard, Signer | None], object]) -> None:
    sign(yard, None)
    for path in [each for each in yard.subject.rglob("*.json") if "verificationMaterial" in each.read_text()]:
        content = json.loads(path.read_text())
        content["verificationMaterial"]["tlogEntries"] = []
        path.unlink()
        put(path, content) if path.name.endswith(".sigstore.json") else put_record(path.parent, content)
    with pytest.raises(CorruptInput, match="exactly one log entry"):
        yard.read()


@pytest.mark.parametrize("length", [0, 1, 900])
def test_a_truncated_bundle_is_corrupt(yard: Yard, length: int) -> None:
    for path in (yard.sign(yard.files[0]), yard.attest(*yard.files)):
        whole = path.read_bytes()
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptInput, match=r"does not verify|damaged"):
            yard.read()
        path.write_bytes(whole)
    assert yard.read()


def test_a_bundle_that_cannot_be_read_or_is_too_large_is_named(yard: Yard) -> None:
    path = yard.attest(*yard.files)
    with path.open("r+b") as file:
        file.truncate(17 << 20)
    with pytest.raises(CorruptInput, match="more than 16 MiB"):
        yard.read()
    path.unlink()
    path.symlink_to(path.name)
    with pytest.raises(InfrastructureError, match="cannot read a sigstore bundle"):
        yard.read()
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(CorruptInput, match="no file"):
        yard.read()


def test_a_bundle_around_a_record_without_a_statement_is_corrupt(yard: Yard) -> None:
    put_record(yard.files[0].parent, yard.service.file(b"x"))
    for identities in (yard.terms.identities, ()):
        yard.terms = replace(yard.terms, identities=identities)
        with pytest.raises(CorruptInput, match=r"DSSE|dsseEnvelope"):
            yard.read()


def test_appending_goes_on_beside_signatures(yard: Yard) -> None:
    yard.attest(*yard.files)
    yard.sign(yard.files[0])
    append(yard.evidence, yard.records[0])
    assert [each.signed_by for each in yard.read() if each.check == "audit"] == [(WORKFLOW,), ()]
    assert list(yard.refusals()) == [], "an unsigned record does not outvote a signed one"
