"""A published directory holds exactly the approved bytes, or stays as it was."""

from __future__ import annotations

import json
import subprocess
from datetime import date
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError, UsageError
from pipeline.gate import Approved, approve, judge
from pipeline.publishers.directory import publish
from tests.values import bundle, cpu_lane, record

if TYPE_CHECKING:
    from pathlib import Path


def approved(tmp_path: Path, name: str, content: bytes = b"bytes") -> Approved:
    lane = cpu_lane(id=name)
    artifact = bundle(tmp_path, lane, content)
    evidence = [record(lane, artifact, "audit"), record(lane, artifact, "smoke@cpu")]
    return approve(judge(lane, artifact, evidence, today=date(2026, 1, 1)))


def test_exactly_the_approved_bundles_are_there_and_sha256sum_agrees(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    publish(dist, [approved(tmp_path, "one"), approved(tmp_path, "two", b"other")])
    assert sorted(path.name for path in dist.iterdir()) == ["SHA256SUMS", "compat.json", "one.tar.gz", "two.tar.gz"]
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=dist, check=True, capture_output=True)
    assets = json.loads((dist / "compat.json").read_text())["assets"]
    assert [asset["lane"] for asset in assets] == ["one", "two"]


def test_a_lane_that_is_no_longer_approved_disappears(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    publish(dist, [approved(tmp_path, "one"), approved(tmp_path, "two")])
    publish(dist, [approved(tmp_path, "two")])
    assert sorted(path.name for path in dist.iterdir()) == ["SHA256SUMS", "compat.json", "two.tar.gz"]
    publish(dist, [])
    assert sorted(path.name for path in dist.iterdir()) == ["SHA256SUMS"]


def test_a_foreign_file_stops_publication_and_survives(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    dist.mkdir()
    (dist / "precious.whl").write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"precious\.whl"):
        publish(dist, [approved(tmp_path, "one")])
    assert [path.name for path in dist.iterdir()] == ["precious.whl"]


def test_bytes_that_changed_since_the_verdict_are_not_published(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    publish(dist, [approved(tmp_path, "one")])
    before = {path.name: path.read_bytes() for path in dist.iterdir()}
    item = approved(tmp_path, "two")
    item.artifact.path.write_bytes(b"tampered")
    with pytest.raises(InfrastructureError, match="no longer"):
        publish(dist, [item])
    assert {path.name: path.read_bytes() for path in dist.iterdir()} == before
    assert not list(tmp_path.glob(".dist.*"))


def test_two_bundles_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="same file name"):
        publish(tmp_path / "dist", [approved(tmp_path, "one"), approved(tmp_path, "one")])
