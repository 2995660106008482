"""Which evidence counts: each term refuses by name what breaks it, and lets its twin pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.gate import Standing, Terms, judge
from pipeline.model.finding import Status
from pipeline.model.lane import EvidenceTerms
from pipeline.model.terms import SigstoreIdentity
from tests.values import ORIGIN, TERMS, bundle, cpu_lane, record

COMMIT = "c0ffee" * 6 + "c0ff"
SIGNED = replace(TERMS, wanted=EvidenceTerms(signed=True))
YOUNG = replace(TERMS, wanted=EvidenceTerms(max_age_days=1))
OF_COMMIT = replace(TERMS, wanted=EvidenceTerms(same_commit=True), commit=COMMIT)


@pytest.mark.parametrize(
    ("terms", "healthy", "violating", "words"),
    [
        (SIGNED, {"signed_by": ("key",)}, {}, "unauthenticated"),
        (YOUNG, {}, {"finished": "2025-12-31T23:59:59Z"}, "expired: older than 1 days"),
        (OF_COMMIT, {"origin": replace(ORIGIN, commit=COMMIT)}, {}, "from commit unknown"),
        (OF_COMMIT, {"origin": replace(ORIGIN, commit=COMMIT)}, {"origin": replace(ORIGIN, commit="d" * 40)}, "ddddd"),
        (replace(OF_COMMIT, commit=None), None, {"origin": replace(ORIGIN, commit=COMMIT)}, "not unknown"),
        (TERMS, {}, {"origin": replace(ORIGIN, policy="0" * 64)}, "other policy tables"),
    ],
)
def test_each_term(
    tmp_path: Path, terms: Terms, healthy: dict[str, Any] | None, violating: dict[str, Any], words: str
) -> None:
    lane = cpu_lane(required=("audit",))
    artifact = bundle(tmp_path, lane)
    refused = judge(lane, artifact, [record(lane, artifact, "audit", **violating)], terms=terms)
    assert refused.checks[0].standing is Standing.MISSING
    assert words in refused.checks[0].reason
    if healthy is not None:
        assert judge(lane, artifact, [record(lane, artifact, "audit", **healthy)], terms=terms).approved


@pytest.mark.parametrize(
    ("wanted", "remedy"),
    [
        (EvidenceTerms(signed=True, keys=(Path("release.pub"),)), "cubingate run --sign KEY"),
        (EvidenceTerms(signed=True, identities=(SigstoreIdentity("me", "issuer"),)), "sigstore"),
    ],
)
def test_a_missing_signature_names_what_would_give_it(tmp_path: Path, wanted: EvidenceTerms, remedy: str) -> None:
    lane = cpu_lane(required=("audit",))
    artifact = bundle(tmp_path, lane)
    verdict = judge(lane, artifact, [record(lane, artifact, "audit")], terms=replace(TERMS, wanted=wanted))
    assert remedy in verdict.checks[0].reason


def test_what_does_not_count_cannot_outvote_what_does(tmp_path: Path) -> None:
    """Anybody who can write a file could otherwise turn a signed no into a yes."""
    lane = cpu_lane(required=("audit",))
    artifact = bundle(tmp_path, lane)
    signed_no = record(lane, artifact, "audit", status=Status.FAIL, signed_by=("key",))
    unsigned_yes = record(lane, artifact, "audit", finished="2026-01-01T00:00:09Z")
    verdict = judge(lane, artifact, [signed_no, unsigned_yes], terms=SIGNED)
    assert verdict.checks[0].standing is Standing.FAILED


def test_a_smoke_does_not_depend_on_the_tables(tmp_path: Path) -> None:
    lane = cpu_lane(required=("smoke@cpu",))
    artifact = bundle(tmp_path, lane)
    seen = record(lane, artifact, "smoke@cpu", origin=replace(ORIGIN, policy="0" * 64))
    assert judge(lane, artifact, [seen], terms=TERMS).approved
