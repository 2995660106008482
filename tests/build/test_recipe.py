"""The recipe: any changed ingredient means building again, and the record alone is not believed."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.build.recipe import Ingredients, forget, last_built, read_built, stand_in_of, write_built
from pipeline.model.artifact import Artifact

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = Ingredients(asset="a", source="b", dockerfile="c", base="d", pack_format=1, source_date_epoch=2, facts="e")


@pytest.fixture
def built(tmp_path: Path) -> Artifact:
    path = tmp_path / "b.tar.gz"
    path.write_bytes(b"bundle")
    artifact = Artifact("lane", path, hashlib.sha256(b"bundle").hexdigest(), 6, WHOLE.digest)
    write_built(tmp_path, artifact, {"source": {"kind": "file"}})
    return artifact


@pytest.mark.parametrize(
    "other",
    [
        replace(WHOLE, asset="x"),
        replace(WHOLE, source="x"),
        replace(WHOLE, dockerfile="x"),
        replace(WHOLE, base="x"),
        replace(WHOLE, pack_format=3),
        replace(WHOLE, source_date_epoch=3),
        replace(WHOLE, facts="x"),
    ],
)
def test_every_ingredient_counts(tmp_path: Path, built: Artifact, other: Ingredients) -> None:
    assert other.digest != WHOLE.digest
    assert read_built(tmp_path, "lane", WHOLE.digest) == built
    assert read_built(tmp_path, "lane", other.digest) is None


@pytest.mark.parametrize("content", [None, b"BUNDLE"], ids=["gone", "changed"])
def test_the_file_must_be_the_recorded_one(tmp_path: Path, built: Artifact, content: bytes | None) -> None:
    if content is None:
        built.path.unlink()
    else:
        built.path.write_bytes(content)
    assert read_built(tmp_path, "lane", WHOLE.digest) is None
    assert last_built(tmp_path, "lane") is None


@pytest.mark.parametrize("record", ["", "{", "[]", "{}", '{"schema_version": 2}'])
def test_an_unreadable_record_means_building_again(tmp_path: Path, built: Artifact, record: str) -> None:
    (tmp_path / "build.json").write_text(record)
    assert read_built(tmp_path, "lane", WHOLE.digest) is None


def test_a_record_cannot_point_elsewhere(tmp_path: Path, built: Artifact) -> None:
    record = json.loads((tmp_path / "build.json").read_text())
    outside = tmp_path.parent / "outside"
    outside.write_bytes(b"bundle")
    for place in ("../outside", str(outside)):
        (tmp_path / "build.json").write_text(json.dumps({**record, "file": place}))
        assert read_built(tmp_path, "lane", WHOLE.digest) is None


def test_a_build_that_begins_forgets_the_last_one(tmp_path: Path, built: Artifact) -> None:
    assert last_built(tmp_path, "lane") == built
    forget(tmp_path)
    assert last_built(tmp_path, "lane") is None
    forget(tmp_path)


@pytest.mark.parametrize(
    ("origin", "said"),
    [("pulled", None), ("local", None), ("debootstrap", "debootstrap image x:1"), ("stand-in", "stand-in image x:1")],
)
def test_what_a_bundle_was_built_on(tmp_path: Path, built: Artifact, origin: str, said: str | None) -> None:
    assert stand_in_of(tmp_path) is None
    write_built(tmp_path, built, {"base_image": {"reference": "x:1", "digest": "sha256:0", "origin": origin}})
    assert stand_in_of(tmp_path) == said


def test_a_record_that_nobody_can_read_to_its_end_is_none(tmp_path: Path, built: Artifact) -> None:
    place = tmp_path / "build.json"
    place.write_bytes(b"[" * 100_000)
    assert last_built(tmp_path, "lane") is None
    place.unlink()
    os.mkfifo(place)
    assert last_built(tmp_path, "lane") is None
