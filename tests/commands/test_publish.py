"""Destinations are where the matrix file says, wherever the command is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.publishers.staging import LISTS
from tests.e2e.street import Street, write_matrix
from tests.evidence.spoil import rewritten

if TYPE_CHECKING:
    from pathlib import Path


def test_a_destination_is_relative_to_the_matrix_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write_matrix(tmp_path / "sub", [{"id": "one"}])
    street = Street(tmp_path)
    assert street.cubingate("run", "--matrix", "sub/matrix.yaml").returncode == 0
    done = street.cubingate("publish", "--matrix", "sub/matrix.yaml")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "sub" / "dist").iterdir()) == sorted(
        [*LISTS, "fixture-1.0-linux-x86_64.tar.gz"]
    )
    assert not (tmp_path / "sub" / "sub").exists()
    assert "dist: at sub/dist\n" in done.stderr


def test_an_audit_on_record_without_its_document_is_corrupt_and_nothing_is_published(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    assert street.cubingate("run").returncode == 0
    (record,) = (tmp_path / ".cubingate" / "evidence").glob("*/audit/*.json")
    document = {"targets": [{"sm": "80"}]}
    rewritten(record, lambda content: content["predicate"].update(document=document))
    done = street.cubingate("publish")
    assert done.returncode == 5, done.stderr
    assert "its audit on record is incomplete" in done.stderr
    assert street.published() == []


def test_a_record_that_was_edited_is_corrupt_and_nothing_is_published(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    assert street.cubingate("run").returncode == 0
    (record,) = (tmp_path / ".cubingate" / "evidence").glob("*/audit/*.json")
    record.write_text(record.read_text().replace('"pass"', '"fail"'))
    done = street.cubingate("publish")
    assert done.returncode == 5, done.stderr
    assert "one: not judged: evidence was edited" in done.stderr
    assert street.published() == []


def test_sums_are_of_what_is_published_and_of_nothing_else(tmp_path: Path) -> None:
    """A later step attests what they list."""
    place = {"kind": "directory", "location": "dist"}
    street = write_matrix(tmp_path, [{"id": "one"}, {"id": "two"}], publishers={"dist": place})
    assert street.cubingate("run", "--lane", "one").returncode == 0
    done = street.cubingate("publish", "--sums", "sums")
    assert done.returncode == 1, done.stderr
    assert "dist: nothing published: it takes all lanes or none; refused: two\n" in done.stderr
    assert not (tmp_path / "sums").exists()


def test_bytes_that_are_there_already_are_unchanged(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    assert street.cubingate("run").returncode == 0
    bundle = "fixture-1.0-linux-x86_64.tar.gz"
    words = []
    for argv in (("publish",), ("publish",), ("publish", "--dry-run")):
        done = street.cubingate(*argv)
        assert done.returncode == 0, done.stderr
        words += [line.split()[1] for line in done.stderr.splitlines() if line.endswith(f" {bundle}")]
    (tmp_path / "dist" / bundle).write_bytes(b"other")
    words += [
        line.split()[1] for line in street.cubingate("publish").stderr.splitlines() if line.endswith(f" {bundle}")
    ]
    assert words == ["published", "unchanged", "unchanged", "published"]
