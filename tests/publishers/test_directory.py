"""A published directory holds exactly the approved bytes, or stays as it was."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError, UsageError
from pipeline.gate import Approved, approve, judge
from pipeline.publishers.directory import preflight, publish
from pipeline.publishers.staging import LISTS
from tests.values import TERMS, bundle, cpu_lane, record

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEPS = frozenset({"open", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "shutil.copyfile", "shutil.rmtree"})
"""Events by which Python tells an audit hook what it is about to do to a disk."""


def approved(tmp_path: Path, name: str, content: bytes = b"bytes") -> Approved:
    lane = cpu_lane(id=name)
    artifact = bundle(tmp_path, lane, content)
    evidence = [record(lane, artifact, "audit"), record(lane, artifact, "smoke@cpu")]
    return approve(judge(lane, artifact, evidence, terms=TERMS))


def test_exactly_the_approved_bundles_are_there_and_sha256sum_agrees(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    publish(dist, [approved(tmp_path, "one"), approved(tmp_path, "two", b"other")])
    assert sorted(path.name for path in dist.iterdir()) == sorted([*LISTS, "one.tar.gz", "two.tar.gz"])
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=dist, check=True, capture_output=True)
    assets = json.loads((dist / "compat.json").read_text())["assets"]
    assert [asset["lane"] for asset in assets] == ["one", "two"]


def test_a_lane_that_is_no_longer_approved_disappears(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    publish(dist, [approved(tmp_path, "one"), approved(tmp_path, "two")])
    publish(dist, [approved(tmp_path, "two")])
    assert sorted(path.name for path in dist.iterdir()) == sorted([*LISTS, "two.tar.gz"])
    publish(dist, [])
    assert sorted(path.name for path in dist.iterdir()) == ["SHA256SUMS"]


def test_a_foreign_file_stops_publication_and_survives(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    dist.mkdir()
    (dist / "precious.whl").write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"precious\.whl"):
        publish(dist, [approved(tmp_path, "one")])
    assert [path.name for path in dist.iterdir()] == ["precious.whl"]


def test_a_release_of_another_tool_stops_publication_and_survives(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    dist.mkdir()
    (dist / "theirs.zip").write_bytes(b"theirs")
    (dist / "SHA256SUMS").write_text(f"{'0' * 64}  theirs.zip\n")
    with pytest.raises(UsageError, match="SHA256SUMS"):
        publish(dist, [approved(tmp_path, "one")])
    assert sorted(path.name for path in dist.iterdir()) == ["SHA256SUMS", "theirs.zip"]


@pytest.mark.parametrize("name", ["SHA256SUMS", "compat.json"])
@pytest.mark.parametrize("content", [b"\xff", b"{}", b"[" * 100_000, b'{"kind": "compat", "assets": 5}'])
def test_a_damaged_list_of_what_is_ours_is_nobodys(tmp_path: Path, name: str, content: bytes) -> None:
    dist = tmp_path / "dist"
    dist.mkdir()
    (dist / name).write_bytes(content)
    with pytest.raises(UsageError, match=name):
        publish(dist, [approved(tmp_path, "one")])


@pytest.mark.parametrize("name", ["SHA256SUMS", "compat.JSON", "-", "a\\b.tar.gz", "a\nb.tar.gz"])
def test_a_bundle_with_the_name_of_a_list_or_one_that_a_list_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    item = approved(tmp_path, "one")
    path = item.artifact.path.rename(tmp_path / name)
    item = replace(item, artifact=replace(item.artifact, path=path))
    with pytest.raises(UsageError, match="cannot be published as"):
        publish(tmp_path / "dist", [item])
    assert not (tmp_path / "dist").exists()


def test_a_place_that_cannot_be_is_infrastructure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / ("x" * 300), tmp_path / "file" / "dist"):
        with pytest.raises(InfrastructureError, match="cannot publish"):
            publish(place, [approved(tmp_path, "one")])


def test_a_place_that_cannot_be_written_to_is_found_before_anything_is_built() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o555)
        who = os.geteuid()
        os.seteuid(who or 65534)  # root may write anywhere
        try:
            with pytest.raises(InfrastructureError, match="cannot be written to"):
                preflight(Path(folder, "sub", "dist"))
        finally:
            os.seteuid(who)
            Path(folder).chmod(0o755)


def test_a_link_is_no_directory_even_when_it_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "dist").symlink_to("nowhere")
    with pytest.raises(UsageError, match="not a directory"):
        publish(tmp_path / "dist", [approved(tmp_path, "one")])


def test_a_swap_that_was_killed_half_way_is_undone_first(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    publish(dist, [approved(tmp_path, "one")])
    dist.rename(tmp_path / ".dist.previous")
    (tmp_path / ".dist.staging").mkdir()
    item = approved(tmp_path, "two")
    item.artifact.path.write_bytes(b"tampered")
    with pytest.raises(InfrastructureError, match="no longer"):
        publish(dist, [item])
    assert sorted(path.name for path in dist.iterdir()) == sorted([*LISTS, "one.tar.gz"])
    assert not list(tmp_path.glob(".dist.*"))


@pytest.mark.parametrize("can_exchange", [True, False])
def test_killed_at_any_step_the_directory_is_the_old_or_the_new_one_and_a_rerun_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_exchange: bool
) -> None:
    """Where names cannot be exchanged it is missing at one step, and the next publication takes it back."""
    if not can_exchange:
        monkeypatch.setattr("pipeline.publishers.directory.exchanged", lambda *_: False)
    dist = tmp_path / "dist"
    old, new = [approved(tmp_path, "one")], [approved(tmp_path, "one"), approved(tmp_path, "two")]
    missing, kills = 0, 0
    for victim in range(1, 500):
        publish(dist, old)
        if not _killed(dist, new, victim):
            break
        kills += 1
        missing += not dist.exists()
        if dist.exists():
            subprocess.run(
                ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=dist, check=True, capture_output=True
            )
            assert {path.name for path in dist.iterdir()} - LISTS in ({"one.tar.gz"}, {"one.tar.gz", "two.tar.gz"})
        publish(dist, new)
        assert {path.name for path in dist.iterdir()} - LISTS == {"one.tar.gz", "two.tar.gz"}
        assert not list(tmp_path.glob(".dist.*"))
    assert kills > 20
    assert missing == 0 if can_exchange else missing <= 2


def _killed(dist: Path, items: Sequence[Approved], victim: int) -> bool:
    """Publish in a process of its own that is killed at its step ``victim`` on the disk; whether it got there."""
    pid = os.fork()
    if pid == 0:
        steps = itertools.count(1)

        def strike(event: str, _: tuple[object, ...]) -> None:
            if event in _STEPS and next(steps) == victim:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(strike)
        try:
            publish(dist, items)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def test_two_publications_at_once_do_not_mix(tmp_path: Path) -> None:
    lock = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InfrastructureError, match="is going on"):
            publish(tmp_path / "dist", [approved(tmp_path, "one")])
    finally:
        os.close(lock)
    publish(tmp_path / "dist", [approved(tmp_path, "one")])


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


@pytest.mark.parametrize("other", ["one", "ONE"])
def test_two_bundles_of_one_name_are_refused(tmp_path: Path, other: str) -> None:
    """Also of names that are one name on the disks of those who download."""
    with pytest.raises(UsageError, match="same file name"):
        publish(tmp_path / "dist", [approved(tmp_path, "one"), approved(tmp_path, other)])


@pytest.mark.parametrize("place", [".", "..", "/", "sub/.."])
def test_a_place_without_a_name_of_its_own_is_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Nothing can be staged beside it and renamed over it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="has no name"):
        preflight(Path(place))
    with pytest.raises(UsageError, match="has no name"):
        publish(Path(place), [approved(tmp_path, "one")])


def test_a_bundle_that_became_a_pipe_stops_publication_and_is_named(tmp_path: Path) -> None:
    item = approved(tmp_path, "one")
    item.artifact.path.unlink()
    os.mkfifo(item.artifact.path)
    with pytest.raises(InfrastructureError, match=r"one\.tar\.gz. is a named pipe"):
        publish(tmp_path / "dist", [item])
