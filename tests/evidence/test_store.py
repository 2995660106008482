"""Evidence reads back as written; a record that was damaged or moved is an error, never ignored."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import CorruptInput, InfrastructureError
from pipeline.evidence import append, read, scope_of
from pipeline.model.finding import Status
from pipeline.model.lane import PrebuiltFile, ToolkitOrigin
from pipeline.model.versions import GlibcVersion
from tests.evidence.spoil import rewritten
from tests.values import bundle, cpu_lane, cuda_lane, record

if TYPE_CHECKING:
    from collections.abc import Callable


NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_records_read_back_as_written_oldest_first(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    first = record(lane, artifact, "audit")
    second = record(lane, artifact, "audit", finished="2026-01-01T00:00:02Z")
    append(tmp_path / "evidence", first)
    append(tmp_path / "evidence", second)
    assert read([tmp_path / "evidence"], artifact.sha256, now=NOW) == (first, second)


def test_no_folder_is_no_evidence(tmp_path: Path) -> None:
    assert read([tmp_path / "absent"], "0" * 64, now=NOW) == ()


def test_a_truncated_record_is_corrupt(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    path = append(tmp_path, record(lane, artifact, "audit"))
    text = path.read_text()
    for length in range(0, len(text), 97):
        path.write_text(text[:length])
        with pytest.raises(CorruptInput):
            read([tmp_path], artifact.sha256, now=NOW)


@pytest.mark.parametrize("field", ["_type", "subject", "predicateType", "predicate"])
def test_a_record_without_a_part_is_corrupt(tmp_path: Path, field: str) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    rewritten(append(tmp_path, record(lane, artifact, "audit")), lambda content: content.pop(field))
    with pytest.raises(CorruptInput, match="incomplete"):
        read([tmp_path], artifact.sha256, now=NOW)


@pytest.mark.parametrize("field", ["check", "scope", "outcome", "machine", "finished", "origin", "document"])
def test_a_record_without_a_field_is_corrupt(tmp_path: Path, field: str) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    rewritten(append(tmp_path, record(lane, artifact, "audit")), lambda content: content["predicate"].pop(field))
    with pytest.raises(CorruptInput, match="incomplete"):
        read([tmp_path], artifact.sha256, now=NOW)


def test_an_edited_record_is_corrupt_and_named_so(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    path = append(tmp_path, record(lane, artifact, "audit", status=Status.FAIL))
    path.write_text(path.read_text().replace('"fail"', '"pass"'))
    with pytest.raises(CorruptInput, match="was edited") as raised:
        read([tmp_path], artifact.sha256, now=NOW)
    # Running it alone would read the same record first.
    assert raised.value.remedy == f"remove the file, and run the check again: {path}"


@pytest.mark.parametrize(
    "change",
    [
        {"check": "wishes"},
        {"check": "smoke@cpu"},
    ],
    ids=["a check nobody knows", "another check than its folder's"],
)
def test_a_record_of_another_check_is_corrupt(tmp_path: Path, change: dict[str, str]) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    rewritten(append(tmp_path, record(lane, artifact, "audit")), lambda content: content["predicate"].update(change))
    with pytest.raises(CorruptInput, match=r"no check|not about"):
        read([tmp_path], artifact.sha256, now=NOW)


def test_a_record_of_a_newer_version_is_corrupt(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    newer = {"predicateType": "urn:cubingate:evidence:v99"}
    rewritten(append(tmp_path, record(lane, artifact, "audit")), lambda content: content.update(newer))
    with pytest.raises(CorruptInput, match="not evidence of this version"):
        read([tmp_path], artifact.sha256, now=NOW)


def test_of_two_records_at_one_instant_the_failure_counts(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    append(tmp_path / "one", record(lane, artifact, "audit", status=Status.FAIL))
    append(tmp_path / "two", record(lane, artifact, "audit"))
    for order in (["one", "two"], ["two", "one"]):
        newest = read([tmp_path / name for name in order], artifact.sha256, now=NOW)[-1]
        assert newest.outcome.status is Status.FAIL


def test_a_record_too_large_to_be_one_is_corrupt(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    path = append(tmp_path, record(lane, artifact, "audit"))
    with path.open("r+b") as file:
        file.truncate(65 << 20)
    with pytest.raises(CorruptInput, match="more than 64 MiB"):
        read([tmp_path], artifact.sha256, now=NOW)


@pytest.mark.parametrize("leads_to", [None, "/dev/zero"])
def test_what_is_no_file_is_corrupt_and_never_read(tmp_path: Path, leads_to: str | None) -> None:
    """A pipe is never written to, and a device never ends."""
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    place = append(tmp_path, record(lane, artifact, "audit")).with_name("x.json")
    if leads_to is None:
        os.mkfifo(place)
    else:
        place.symlink_to(leads_to)
    with pytest.raises(CorruptInput, match="evidence that is no file"):
        read([tmp_path], artifact.sha256, now=NOW)


def test_what_is_written_is_an_in_toto_statement(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    content = json.loads(append(tmp_path, record(lane, artifact, "audit")).read_text())
    assert content["_type"] == "https://in-toto.io/Statement/v1"
    assert content["subject"] == [{"name": lane.id, "digest": {"sha256": artifact.sha256}}]


def test_a_record_copied_under_another_digest_is_corrupt(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    path = append(tmp_path, record(lane, artifact, "audit"))
    stolen = tmp_path / ("f" * 64) / "audit" / path.name
    stolen.parent.mkdir(parents=True)
    stolen.write_bytes(path.read_bytes())
    with pytest.raises(CorruptInput, match="not about"):
        read([tmp_path], "f" * 64, now=NOW)


def test_records_from_several_places_are_ordered_by_time_and_not_by_spelling(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    before = "2026-01-01T11:00:00+14:00"
    older = record(lane, artifact, "audit", started=before, finished="2026-01-01T12:00:00+14:00")
    newer = record(lane, artifact, "audit", finished="2026-01-01T00:00:00.5Z", status=Status.FAIL)
    append(tmp_path / "one", newer)
    append(tmp_path / "two", older)
    assert read([tmp_path / "one", tmp_path / "two"], artifact.sha256, now=NOW) == (older, newer)


def test_a_record_is_newer_than_what_was_there_although_the_clock_went_back(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    append(tmp_path, record(lane, artifact, "audit"))
    append(tmp_path, record(lane, artifact, "audit", finished="2025-01-01T00:00:00Z", status=Status.FAIL))
    newest = read([tmp_path], artifact.sha256, now=NOW)[-1]
    assert newest.outcome.status is Status.FAIL
    assert newest.finished == "2026-01-01T00:00:01.000001Z"


def test_a_record_from_the_future_is_infrastructure_and_never_the_newest(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    append(tmp_path, record(lane, artifact, "audit", finished="2026-01-02T00:04:00Z"))
    assert read([tmp_path], artifact.sha256, now=NOW), "clocks of two machines differ a little"
    append(tmp_path, record(lane, artifact, "audit", finished="2026-01-02T00:06:00Z"))
    with pytest.raises(InfrastructureError, match="in the future"):
        read([tmp_path], artifact.sha256, now=NOW)


@pytest.mark.parametrize("finished", ["", "yesterday", "2026-01-01T00:00:01", 5, None])
def test_a_record_without_a_time_is_corrupt(tmp_path: Path, finished: object) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    change = {"finished": finished}
    rewritten(append(tmp_path, record(lane, artifact, "audit")), lambda content: content["predicate"].update(change))
    with pytest.raises(CorruptInput, match="incomplete"):
        read([tmp_path], artifact.sha256, now=NOW)


def test_a_count_beyond_all_numbers_is_corrupt(tmp_path: Path) -> None:
    lane = cpu_lane()
    artifact = bundle(tmp_path, lane)
    beyond = {"examined": 1e400}
    rewritten(
        append(tmp_path, record(lane, artifact, "audit")),
        lambda content: content["predicate"]["outcome"].update(beyond),
    )
    with pytest.raises(CorruptInput, match="incomplete"):
        read([tmp_path], artifact.sha256, now=NOW)


@pytest.mark.parametrize("spoil", [Path.touch, lambda path: path.symlink_to(path.name)], ids=["a file", "a loop"])
@pytest.mark.parametrize("below", [".", "audit"])
def test_a_folder_that_cannot_be_read_is_not_an_absence_of_evidence(
    tmp_path: Path, spoil: Callable[[Path], None], below: str
) -> None:
    place = tmp_path / ("f" * 64) / below
    place.parent.mkdir(exist_ok=True)
    spoil(place)
    with pytest.raises(InfrastructureError, match="cannot read evidence"):
        read([tmp_path], "f" * 64, now=NOW)


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


def test_evidence_from_one_asset_name_or_toolkit_origin_is_not_evidence_for_another() -> None:
    lane = cpu_lane()
    renamed = replace(lane, source=PrebuiltFile(Path("server-cuda12.tar.gz"), "0" * 64))
    moved = replace(lane, source=PrebuiltFile(Path("elsewhere/server.tar.gz"), "0" * 64))
    assert scope_of(lane, "audit") != scope_of(renamed, "audit")
    assert scope_of(lane, "audit") == scope_of(moved, "audit")
    origins = [cuda_lane(toolkit_origin=origin) for origin in ToolkitOrigin]
    assert len({scope_of(lane, "build") for lane in origins}) == len(origins)
