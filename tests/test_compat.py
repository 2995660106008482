"""compat.json says what was seen and what was concluded, and never one for the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from pipeline.compat import compatibility
from pipeline.errors import CorruptInput
from pipeline.gate import approve, judge
from pipeline.model.document import document
from pipeline.model.lane import Proof
from tests.gate.test_targets import LANE, MODEST, audit, proofs
from tests.values import TERMS, bundle, record

ROOT = Path(__file__).resolve().parents[1]

if TYPE_CHECKING:
    from pipeline.model.artifact import Artifact
    from pipeline.model.evidence import Evidence
    from pipeline.model.lane import Lane


def asset(lane: Lane, artifact: Artifact, *evidence: Evidence) -> dict[str, Any]:
    verdict = judge(lane, artifact, evidence, terms=TERMS)
    (row,) = compatibility([approve(verdict)])["assets"]
    assert isinstance(row, dict)
    return row


def with_floor(lane: Lane, artifact: Artifact) -> Evidence:
    record = audit(lane, artifact)
    record.document["targets"][0]["minimum_driver"] = "450.80.02"
    return record


def test_a_proven_target_is_listed_with_the_driver_that_was_seen(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, LANE)
    row = asset(LANE, artifact, with_floor(LANE, artifact), *proofs(LANE, artifact))
    assert row["minimum_driver"] == {"inferred": {"80": "450.80.02"}, "proven": {"80": ["535.288.01"]}}
    assert row["targets"][0]["standing"] == Proof.PROVEN


def test_an_inferred_target_has_no_proven_driver(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, MODEST)
    load, _ = proofs(MODEST, artifact)
    row = asset(MODEST, artifact, with_floor(MODEST, artifact), load)
    assert row["minimum_driver"]["proven"] == {}, "a load alone proves no target"
    assert row["targets"][0]["standing"] == Proof.INFERRED


def test_a_recorded_audit_without_floors_is_damaged(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, MODEST)
    with pytest.raises(CorruptInput, match="incomplete"):
        asset(MODEST, artifact, record(MODEST, artifact, "audit", document={"targets": [{"sm": "80"}]}))


def test_every_gpu_of_the_tables_is_told_as_the_audit_recorded_it(tmp_path: Path) -> None:
    artifact = bundle(tmp_path, MODEST)
    rows = {"policy_date": "2026-11-30", "newest_branch": 620, "glibc": "2.28", "gpus": []}
    recorded = with_floor(MODEST, artifact)
    load, _ = proofs(MODEST, artifact)
    assert "serves" not in asset(MODEST, artifact, recorded, load), "an older version made that record"
    recorded.document["serves"] = rows
    assert asset(MODEST, artifact, recorded, load)["serves"] == rows


@pytest.mark.parametrize("lane", [LANE, MODEST], ids=["proven", "inferred"])
def test_it_fits_its_published_schema(tmp_path: Path, lane: Lane) -> None:
    schema = json.loads((ROOT / "docs" / "compat.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    artifact = bundle(tmp_path, lane)
    evidence = [with_floor(lane, artifact), *(proofs(lane, artifact) if lane is LANE else ())]
    verdict = judge(lane, artifact, evidence, terms=TERMS)
    content = json.loads(document("compat", compatibility([approve(verdict)])))
    jsonschema.validate(content, schema)
    del content["assets"][0]["targets"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, schema)
