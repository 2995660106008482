"""What every format does with input that is hostile, huge, empty or from the right: one table, no format left out."""

from __future__ import annotations

import html
import json
import re
import time
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.audit.report import AuditedArtifact, AuditReport, Examined
from pipeline.commands.options import AUDIT_FORMATS, GATE_FORMATS
from pipeline.errors import CorruptInput
from pipeline.evidence import append, read
from pipeline.gate import judge, refuse
from pipeline.model.finding import Outcome, Severity, Status
from pipeline.report.audit_json import audit_json
from pipeline.report.audit_text import audit_text
from pipeline.report.diff_text import diff_text
from pipeline.report.gate_text import explanation, summary
from pipeline.report.told import told_audit
from pipeline.report.written import written_audit, written_gate
from tests.evidence.spoil import rewritten
from tests.report.conftest import HOSTILE, finding
from tests.values import POLICY, TERMS, bundle, cpu_lane, cuda_lane, record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.gate import LaneVerdict
    from pipeline.model.artifact import Artifact
    from pipeline.model.finding import Finding
    from pipeline.model.lane import Lane

ROOT = PurePath("/builds/7")
RTL = "לשון/مكتبة.so"
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066\u2067\ud800-\udfff]")
"""What a terminal or a browser obeys; isolates of this program's own (U+2068, U+2069) are what contains others."""


def report(findings: Sequence[Finding], name: str = "bundle.tar.gz", **changes: Any) -> AuditReport:
    values: dict[str, Any] = {
        "artifacts": (AuditedArtifact(name, "0" * 64, 123, "tar.gz"),),
        "examined": Examined(1, 1, 1, 1, 1),
        "targets": (),
        "outcomes": (Outcome(rule="fatbin-codec", status=Status.FAIL, examined=1),),
        "findings": tuple(findings),
        "deep": False,
        "policy_date": "2026-11-30",
    }
    return AuditReport(**{**values, **changes})


def audited(name: str, what: AuditReport) -> str:
    match name:
        case "text":
            return audit_text(what, width=80)
        case "json":
            return audit_json(what)
        case _:
            return written_audit(name, told_audit(what), ROOT)


def gated(name: str, verdicts: Sequence[LaneVerdict]) -> str:
    match name:
        case "text":
            told = [explanation(verdict, color=False, width=80) for verdict in verdicts]
            return "\n".join([summary(verdicts, color=False, width=80), *told])
        case "json":
            return json.dumps([verdict.to_json() for verdict in verdicts])
        case _:
            return written_gate(name, verdicts, ROOT)


def refused(tmp_path: Path, words: str) -> LaneVerdict:
    """A lane whose records tell ``words`` everywhere that a record may."""
    lane = cpu_lane(required=("audit",))
    artifact = bundle(tmp_path, lane)
    row = {"severity": "error", "rule": words, "observed": words, "remedy": words, "path": words}
    sides = {side: {"path": words, "size": 9} for side in ("old", "new")}
    kernels = {"groups": [{"library": words, "group": words, "kernels": 2, "archs": {words: 1}}]}
    document = {"findings": [row], **sides, "kernels": kernels, "sizes": [{"path": words, "old": 0, "new": 9}]}
    outcome = Outcome(rule="audit", status=Status.FAIL, examined=1, reason=words)
    return judge(lane, artifact, [record(lane, artifact, "audit", document=document, outcome=outcome)], terms=TERMS)


def hostile() -> AuditReport:
    bad = finding(
        path=HOSTILE, declared=HOSTILE, observed=HOSTILE, remedy=HOSTILE, targets=(HOSTILE,), kernels=(HOSTILE,)
    )
    return report([bad], HOSTILE, notes=(HOSTILE,))


@pytest.mark.parametrize("name", AUDIT_FORMATS)
def test_an_audit_obeys_no_name(name: str) -> None:
    text = audited(name, hostile())
    assert not RAW.search(text), ascii(text[:2000])
    text.encode("utf-8")
    assert not re.search(r"<img|<b>b", text) or name in {"text", "json", "sarif", "annotations"}, "those are no HTML"


@pytest.mark.parametrize("name", GATE_FORMATS)
def test_a_gate_obeys_no_record(tmp_path: Path, name: str) -> None:
    text = gated(name, [refused(tmp_path, HOSTILE)])
    assert not RAW.search(text), ascii(text[:2000])
    text.encode("utf-8")


@pytest.mark.parametrize("name", AUDIT_FORMATS)
def test_names_from_the_right_are_kept(name: str) -> None:
    text = audited(name, report([finding(path=f"b.tar.gz!/{RTL}")], RTL))
    plain = json.dumps(json.loads(text), ensure_ascii=False) if name in {"json", "sarif"} else text
    assert RTL.rpartition("/")[2] in plain


@pytest.fixture(scope="module")
def many() -> AuditReport:
    found = [
        finding(rule=f"rule-{index % 5}", path=f"b.tar.gz!/{'x' * 200}{index}", observed=f"seen {index}", count=1)
        for index in range(100_000)
    ]
    rules = tuple(Outcome(rule=f"rule-{index}", status=Status.FAIL, examined=1) for index in range(5))
    return report(found, outcomes=rules)


@pytest.mark.parametrize("name", AUDIT_FORMATS)
def test_a_hundred_thousand_findings_are_all_there_or_counted(name: str, many: AuditReport) -> None:
    before = time.monotonic()
    text = audited(name, many)
    assert time.monotonic() - before < 20  # seconds
    if name == "json":
        assert len(json.loads(text)["findings"]) == 100_000
    else:
        assert len(text) < 10_000_000
        assert re.search(r"19,?\d{3} more|19\d{3} |95000|x19\d{3}|x20000", text), text[-2000:]


@pytest.mark.parametrize("name", AUDIT_FORMATS)
def test_an_audit_that_found_nothing_is_still_a_report(name: str) -> None:
    text = audited(name, report((), outcomes=()))
    assert text or name == "annotations"


@pytest.mark.parametrize("name", GATE_FORMATS)
def test_no_evidence_and_no_lane_are_never_approved(tmp_path: Path, name: str) -> None:
    lane = cuda_lane()
    nothing = judge(lane, bundle(tmp_path, lane), [], terms=TERMS)
    assert re.search("refused|REFUSED", gated(name, [nothing]))
    assert not re.search(r"(✓|✅) approved", gated(name, []))


@pytest.mark.parametrize("name", GATE_FORMATS)
def test_evidence_of_a_newer_schema_is_refused_by_name(tmp_path: Path, name: str) -> None:
    lane = cpu_lane(required=("audit",))
    artifact = bundle(tmp_path, lane)
    path = append(tmp_path / "evidence", record(lane, artifact, "audit"))
    assert judged_from(tmp_path / "evidence", lane, artifact).approved, "its twin of this version is read"
    rewritten(path, lambda content: content.update(predicateType="urn:cubingate:evidence:v99"))
    text = html.unescape(gated(name, [judged_from(tmp_path / "evidence", lane, artifact)]))
    assert "not evidence of this version" in " ".join(text.replace("\\", "").split())
    assert not re.search(r"(✓|✅) approved", text)


def judged_from(folder: Path, lane: Lane, artifact: Artifact) -> LaneVerdict:
    """As the gate's stage does it: what cannot be read refuses the lane."""
    try:
        return judge(lane, artifact, read([folder], artifact.sha256, now=TERMS.now), terms=TERMS)
    except CorruptInput as error:
        return refuse(lane, error, POLICY)


@pytest.mark.parametrize("severity", Severity)
def test_a_comparison_obeys_no_name(severity: Severity) -> None:
    from pipeline.diff.difference import Difference

    side = AuditedArtifact(HOSTILE, "0" * 64, 9, "tar.gz")
    bad = finding(path=HOSTILE, declared=HOSTILE, observed=HOSTILE, remedy=HOSTILE, severity=severity)
    text = diff_text(Difference(side, side, (), (bad,), (), (), corrupt=False, examined=1), color=False, width=80)
    assert not RAW.search(text), ascii(text)
