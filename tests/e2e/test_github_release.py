"""From matrix.yaml to a release on a stand-in for GitHub, and no further where a byte changed since its tests."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from pipeline.publishers.staging import LISTS
from tests.e2e.street import write_matrix
from tests.publishers.github_server import SIGNED, TOKEN, Hub, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.street import Street

TAG = "v1.0"
BUNDLE = "fixture-1.0-linux-x86_64.tar.gz"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving(Hub()) as serving_hub:
        yield serving_hub


def street_with_github(folder: Path, hub: Hub) -> Street:
    publisher = {"kind": "github", "repository": hub.repository, "tag": TAG}
    return write_matrix(folder, [{"id": "one"}], publishers={"release": publisher})


def test_a_release_is_built_tested_published_and_checked_by_a_stranger(tmp_path: Path, hub: Hub) -> None:
    street = street_with_github(tmp_path, hub)
    secrets = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": hub.api}
    outputs = [street.cubingate("run", **secrets), street.cubingate("publish", **secrets)]
    assert [done.returncode for done in outputs] == [0, 0], [done.stderr for done in outputs]
    assert set(hub.public()[TAG]) == {*LISTS, BUNDLE}
    download = tmp_path / "download"
    download.mkdir()
    for asset in hub.releases[0].assets:
        (download / asset.name).write_bytes(asset.content)
    subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=download, check=True, capture_output=True)
    _assert_no_secret_in(tmp_path, [done.stdout + done.stderr for done in outputs])


def test_one_byte_changed_after_the_tests_is_not_published(tmp_path: Path, hub: Hub) -> None:
    street = street_with_github(tmp_path, hub)
    assert street.cubingate("run").returncode == 0
    street.change_one_byte("one")
    done = street.cubingate("publish", GITHUB_TOKEN=TOKEN, GITHUB_API_URL=hub.api)
    assert done.returncode == 1, done.stderr
    assert hub.releases == []


def test_without_a_token_nothing_is_asked_and_the_remedy_is_told(tmp_path: Path, hub: Hub) -> None:
    street = street_with_github(tmp_path, hub)
    assert street.cubingate("run").returncode == 0
    done = street.cubingate("publish", GITHUB_TOKEN="", GH_TOKEN="", GITHUB_API_URL=hub.api)
    assert done.returncode == 2
    assert "set GITHUB_TOKEN" in done.stderr
    assert hub.requests == 0


def test_destinations_are_asked_before_anything_is_built(tmp_path: Path, hub: Hub) -> None:
    street = street_with_github(tmp_path, hub)
    secrets = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": hub.api}
    done = street.cubingate("publish", "--preflight", **secrets)
    assert (done.returncode, done.stderr) == (0, "release: ready\n")
    hub.push = False
    done = street.cubingate("publish", "--preflight", **secrets)
    assert done.returncode == 2
    assert "may not write" in done.stderr


def test_what_is_released_must_be_the_tags_commit(tmp_path: Path, hub: Hub) -> None:
    street = street_with_github(tmp_path, hub)
    hub.tags = {TAG: "a" * 40}
    secrets = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": hub.api}
    assert street.cubingate("publish", "--preflight", **secrets, GITHUB_SHA="a" * 40).returncode == 0
    done = street.cubingate("publish", "--preflight", **secrets, GITHUB_SHA="b" * 40)
    assert done.returncode == 2
    assert f"the tag {TAG} is at commit aaaaaaaaaaaa" in done.stderr


def test_more_than_any_disk_holds_is_found_before_anything_is_built(tmp_path: Path, hub: Hub) -> None:
    publisher = {"kind": "github", "repository": hub.repository, "tag": TAG}
    lanes = [{"id": "one", "size_budget": "900000 GiB"}]
    street = write_matrix(tmp_path, lanes, publishers={"release": publisher})
    done = street.cubingate("publish", "--preflight", GITHUB_TOKEN=TOKEN, GITHUB_API_URL=hub.api)
    assert done.returncode == 4
    assert "the bundles need 900000.0 GiB" in done.stderr


def test_a_dry_run_asks_and_changes_nothing(tmp_path: Path, hub: Hub) -> None:
    street = street_with_github(tmp_path, hub)
    secrets = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": hub.api}
    assert street.cubingate("run").returncode == 0
    done = street.cubingate("publish", "--dry-run", **secrets)
    assert done.returncode == 0, done.stderr
    assert {call.split()[0] for call in hub.calls} == {"GET"}


def _assert_no_secret_in(folder: Path, said: list[str]) -> None:
    """Everything printed, and every file written, evidence and logs included."""
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    for marker in (TOKEN, SIGNED):
        assert not [text for text in said if marker in text]
        assert not [content for content in written if marker.encode() in content]
