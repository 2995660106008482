"""What would stop a publication is found before anything is built: each thing that would, and its healthy twin."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pipeline.errors import InfrastructureError, UsageError
from pipeline.policy.unknown import InconsistentTables
from pipeline.publishers import github
from pipeline.publishers.directory import Directory
from pipeline.publishers.github import GithubReleases
from pipeline.publishers.github_api import Github
from pipeline.publishers.github_limits import Limits, load_limits
from pipeline.publishers.space import check_space
from pipeline.stages.space import expected_bytes
from tests.publishers.github_server import TOKEN, Hub, StoredRelease, serving
from tests.publishers.test_directory import approved
from tests.values import cpu_lane

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OURS, THEIRS = "a" * 40, "b" * 40


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving(Hub()) as serving_hub:
        yield serving_hub


def releases(hub: Hub, *, tag: str = "v1.0", commit: str | None = OURS) -> GithubReleases:
    return GithubReleases(Github(hub.api, hub.repository, TOKEN, sleep=lambda _: None), tag, commit)


@pytest.mark.parametrize("tag", ["v1.0", "releases/v1.0", "v1+cuda"])
def test_a_tag_of_another_commit_is_found(hub: Hub, tag: str) -> None:
    for free in ({}, {f"{tag}.1": THEIRS}, {tag: OURS}):
        hub.tags = free
        releases(hub, tag=tag).preflight()
    hub.tags = {tag: THEIRS}
    with pytest.raises(UsageError, match=f"at commit {THEIRS[:12]}, and what is released is {OURS[:12]}"):
        releases(hub, tag=tag).preflight()
    releases(hub, tag=tag, commit=None).preflight()  # nobody says which commit is released


def test_an_annotated_tag_is_the_commit_that_it_is_of(hub: Hub) -> None:
    hub.tags, hub.annotated = {"v1.0": "1" * 40}, {"1" * 40: ("tag", "2" * 40), "2" * 40: ("commit", OURS)}
    releases(hub).preflight()
    hub.annotated["2" * 40] = ("commit", THEIRS)
    with pytest.raises(UsageError, match="is at commit"):
        releases(hub).preflight()
    hub.annotated["2" * 40] = ("tag", "1" * 40)
    with pytest.raises(InfrastructureError, match="without end"):
        releases(hub).preflight()


def test_a_release_that_is_public_may_be_confirmed_whatever_the_tag(hub: Hub, tmp_path: Path) -> None:
    bundles = [approved(tmp_path, "one")]
    releases(hub).publish(bundles)
    hub.tags = {"v1.0": THEIRS}
    releases(hub).preflight()
    releases(hub).publish(bundles)


def test_a_tag_of_an_immutable_release_is_named_and_nothing_is_public(hub: Hub, tmp_path: Path) -> None:
    hub.burned = {"v1.0"}
    with pytest.raises(UsageError, match="used by an immutable release") as caught:
        releases(hub).publish([approved(tmp_path, "one")])
    assert "choose another tag" in str(caught.value)
    assert hub.public() == {}
    hub.burned = set()
    releases(hub).publish([approved(tmp_path, "one")])
    assert hub.public()


def test_a_draft_of_somebody_else_and_a_token_that_may_only_read_are_found(hub: Hub) -> None:
    releases(hub).preflight()
    hub.releases.append(StoredRelease(1, "v1.0", "our notes"))
    with pytest.raises(UsageError, match="did not make"):
        releases(hub).preflight()
    hub.releases.clear()
    hub.push = False
    with pytest.raises(UsageError, match="may not write"):
        releases(hub).preflight()


def test_what_github_would_not_take_is_refused_before_a_draft_is_made(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundles = [approved(tmp_path, "one"), approved(tmp_path, "two", b"x" * 99)]
    for limits, said in (
        (Limits(files=6, bytes=99), "more than the 6 files"),
        (Limits(files=7, bytes=98), "two.tar.gz"),
    ):
        monkeypatch.setattr(github, "load_limits", lambda limits=limits: limits)
        for step in (releases(hub).compare, releases(hub).publish):
            with pytest.raises(UsageError, match=said):
                step(bundles)
    assert hub.requests == 0
    monkeypatch.setattr(github, "load_limits", lambda: Limits(files=7, bytes=99))
    releases(hub).compare(bundles)
    releases(hub).publish(bundles)


@pytest.mark.parametrize("name", ["a b.tar.gz", ".a.tar.gz", "a.tar.gz.", "a~1.tar.gz", "é.tar.gz"])
def test_a_name_that_github_would_change_is_refused_before_a_draft_is_made(hub: Hub, tmp_path: Path, name: str) -> None:
    """It would be another one when it is read back."""
    item = approved(tmp_path, "one")
    path = item.artifact.path.rename(tmp_path / name)
    item = replace(item, artifact=replace(item.artifact, path=path))
    for step in (releases(hub).compare, releases(hub).publish):
        with pytest.raises(UsageError, match="GitHub would rename"):
            step([item])
    assert hub.requests == 0


def test_the_limits_have_a_source(tmp_path: Path) -> None:
    assert load_limits() == Limits(files=1000, bytes=(2 << 30) - 1)
    (tmp_path / "github_limits.csv").write_text("limit,most,source,date\nrelease-files,1000,,2026-12-01\n")
    with pytest.raises(InconsistentTables):
        load_limits(tmp_path)


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_a_disk_that_is_too_full_is_found(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(100 << 20, 90 << 20, 10 << 20))
    for place in (Directory(tmp_path / "not" / "there" / "dist"), releases(hub)):
        check_space(place, 10 << 20)
        with pytest.raises(InfrastructureError, match=r"has 10.0 MiB free, and the bundles need 10.0 MiB"):
            check_space(place, (10 << 20) + 1)
    check_space(object(), 1 << 60)  # a destination that copies nothing here


def test_a_disk_that_cannot_be_asked_is_infrastructure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> Usage:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(shutil, "disk_usage", fail)
    with pytest.raises(InfrastructureError, match="Permission denied"):
        check_space(Directory(tmp_path / "dist"), 1)


def test_what_a_release_takes_is_what_was_built_or_promised(tmp_path: Path) -> None:
    lanes = [cpu_lane(id="built"), cpu_lane(id="promised", size_budget=500), cpu_lane(id="unknown")]
    built = tmp_path / "lanes" / "built"
    built.mkdir(parents=True)
    (built / "bundle.tar.gz").write_bytes(b"x" * 300)
    (built / "build.json").write_bytes(b"x" * 20)
    assert expected_bytes(lanes, tmp_path) == 800
    assert expected_bytes([replace(lanes[0], size_budget=9000)], tmp_path) == 300
    (tmp_path / "lanes" / "unknown").touch()
    with pytest.raises(InfrastructureError, match="cannot look into"):
        expected_bytes(lanes, tmp_path)
