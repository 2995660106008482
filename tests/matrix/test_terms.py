"""Which evidence counts, as matrix.yaml says it; what means nothing is a mistake with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.errors import UsageError
from pipeline.matrix.load import load_plan
from pipeline.model.lane import EvidenceTerms, SigstoreIdentity
from pipeline.policy import load_policy
from tests.matrix.files import CPU, HEAD

if TYPE_CHECKING:
    from pathlib import Path

POLICY = load_policy()
WORKFLOW = "https://github.com/acme/server/.github/workflows/release.yml"
GITHUB = "https://token.actions.githubusercontent.com"


def terms_of(folder: Path, evidence: str) -> EvidenceTerms:
    """The terms of a small matrix.yaml with this section."""
    file = folder / "matrix.yaml"
    file.write_text(f"{HEAD}\nmatrix: {{include: [{CPU}]}}\nevidence: {evidence}\n")
    return load_plan(file, policy=POLICY).terms


def test_identities_and_their_root_are_read(tmp_path: Path) -> None:
    terms = terms_of(
        tmp_path,
        f"{{signed: required, trusted_root: root.json, sigstore: [{{identity: '{WORKFLOW}@refs/tags/*', "
        f"issuer: '{GITHUB}', repository: 'https://github.com/acme/server'}}, "
        "{identity: ops@example.org, issuer: https://accounts.example.org}]}",
    )
    assert terms == EvidenceTerms(
        signed=True,
        identities=(
            SigstoreIdentity(f"{WORKFLOW}@refs/tags/*", GITHUB, "https://github.com/acme/server"),
            SigstoreIdentity("ops@example.org", "https://accounts.example.org"),
        ),
        trusted_root=tmp_path / "root.json",
    )


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ("{signed: required}", "nobody's signature is trusted"),
        ("{trusted_root: root.json}", "without an identity"),
        ("{sigstore: []}", "an empty list"),
        ("{sigstore: [{identity: ops@example.org}]}", "issuer"),
        ("{sigstore: [{identity: 'ops@*', issuer: https://i}]}", "a workflow's address"),
        ("{sigstore: [{identity: 'ops@example*', issuer: https://i}]}", "a workflow's address"),
        ("{sigstore: [{identity: 'https://github.com/*', issuer: https://i}]}", "a workflow's address"),
        ("{sigstore: [{identity: 'https://github.com/a/*@refs/tags/v1', issuer: https://i}]}", "a workflow's address"),
        ("{sigstore: [{identity: 'https://github.com/a/w.yml@*', issuer: https://i}]}", "a workflow's address"),
    ],
)
def test_terms_that_trust_nobody_or_everybody_are_mistakes(tmp_path: Path, evidence: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        terms_of(tmp_path, evidence)
