"""Evidence reads back as written; a record that was damaged or moved is an error, never ignored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.evidence import append, read, scope_of
from pipeline.model.versions import GlibcVersion
from tests.values import bundle, cpu_lane, cuda_lane, record

if TYPE_CHECKING:
    from pathlib import Path


def test_records_read_back_as_written_oldest_first(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    first = record(lane, artifact, "audit")
    second = record(lane, artifact, "audit", finished="2026-01-01T00:00:02Z")
    append(tmp_path / "evidence", second)
    append(tmp_path / "evidence", first)
    assert read([tmp_path / "evidence"], artifact.sha256) == (first, second)


def test_no_folder_is_no_evidence(tmp_path: Path) -> None:
    assert read([tmp_path / "absent"], "0" * 64) == ()


def test_a_truncated_record_is_corrupt(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    path = append(tmp_path, record(lane, artifact, "audit"))
    text = path.read_text()
    for length in range(0, len(text), 97):
        path.write_text(text[:length])
        with pytest.raises(CorruptInput):
            read([tmp_path], artifact.sha256)


@pytest.mark.parametrize("field", ["subject", "check", "scope", "outcome", "machine", "document"])
def test_a_record_without_a_field_is_corrupt(tmp_path: Path, field: str) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    path = append(tmp_path, record(lane, artifact, "audit"))
    content = json.loads(path.read_text())
    del content[field]
    path.write_text(json.dumps(content))
    with pytest.raises(CorruptInput, match="incomplete"):
        read([tmp_path], artifact.sha256)


def test_a_record_copied_under_another_digest_is_corrupt(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    path = append(tmp_path, record(lane, artifact, "audit"))
    stolen = tmp_path / ("f" * 64) / "audit" / path.name
    stolen.parent.mkdir(parents=True)
    stolen.write_bytes(path.read_bytes())
    with pytest.raises(CorruptInput, match="not about"):
        read([tmp_path], "f" * 64)


def test_a_folder_that_cannot_be_made_is_infrastructure(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    with pytest.raises(InfrastructureError):
        append(artifact.path, record(lane, artifact, "audit"))


def test_the_scope_of_an_audit_follows_the_promise_and_not_the_serving() -> None:
    lane = cpu_lane()
    floor = cpu_lane(host_glibc=GlibcVersion("2.17"))
    assert scope_of(lane, "audit") != scope_of(floor, "audit")
    assert scope_of(lane, "smoke@cpu") == scope_of(floor, "smoke@cpu")


@pytest.mark.parametrize("setting", ["by_design", "never_by_design"])
def test_what_is_absent_by_design_is_part_of_an_audit_and_a_load(setting: str) -> None:
    lane = cuda_lane()
    other = cuda_lane(**{setting: ("libk.so",)})
    for check in ("audit", "load@80@535.288.01"):
        assert scope_of(lane, check) != scope_of(other, check)
    assert scope_of(lane, "smoke@80@535.288.01") == scope_of(other, "smoke@80@535.288.01")
    several = [cuda_lane(**{setting: names}) for names in (("a", "b"), ("b", "a"))]
    assert scope_of(several[0], "audit") == scope_of(several[1], "audit")
