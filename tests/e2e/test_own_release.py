"""A release of this repository's own example, by the command line, as a maintainer and then a stranger see it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.publishers.staging import LISTS
from tests.e2e.street import Street
from tests.publishers.github_server import SIGNED, TOKEN, Exchange, Hub, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
LANE, TAG = "prebuilt-cpu", "b11434"
# What this repository's matrix.yaml would say if it released on GitHub: of its lanes, those that are approved.
DESTINATION = "  release: {kind: github, repository: acme/server, tag: b11434, partial: true}\n"

pytestmark = [pytest.mark.docker, pytest.mark.network]


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving(Hub()) as serving_hub:
        yield serving_hub


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Street:
    """The lane as it comes out of build, audit and smoke: each step is the command that a workflow calls."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "matrix.yaml").write_text((ROOT / "matrix.yaml").read_text() + DESTINATION)
    street = Street(folder)
    ran(street, "build", "--lane", LANE)
    bundle = str(bundle_of(street))
    ran(street, "audit", bundle, "--lane", LANE)
    ran(street, "smoke", bundle, "--lane", LANE)
    done = ran(street, "run", "--lane", LANE)  # puts the audit on record, and looks at nothing twice
    assert "smoke@cpu  unchanged, passed before" in done
    assert f"{LANE}  PASS" in ran(street, "gate", "--lane", LANE)
    return street


@pytest.fixture
def street(tested: Street, tmp_path: Path) -> Street:
    """The same in a folder of its own."""
    return Street(shutil.copytree(tested.folder, tmp_path / "own", symlinks=True))


def ran(street: Street, *arguments: str, **environment: str) -> str:
    done = street.cubingate(*arguments, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def bundle_of(street: Street) -> Path:
    (bundle,) = (street.folder / ".cubingate" / "lanes" / LANE).glob("*.whl")
    return bundle


def secrets(hub: Hub) -> dict[str, str]:
    return {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": hub.api}


def curl(hub: Hub, name: str, folder: Path) -> int:
    """A stranger's command, as the README of a release would tell it; the status of curl."""
    address = f"{hub.api}/{hub.repository}/releases/download/{TAG}/{name}"
    command = ["curl", "--fail", "--silent", "--show-error", "--location", "--noproxy", "*", "--output", name, address]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True).returncode


def test_it_becomes_a_draft_then_public_and_a_stranger_checks_it(street: Street, hub: Hub, tmp_path: Path) -> None:
    said = [ran(street, "publish", "--preflight", "--to", "release", **secrets(hub))]
    said.append(ran(street, "publish", "--dry-run", "--to", "release", **secrets(hub)))
    assert hub.releases == []
    download, bundle = tmp_path / "download", bundle_of(street)
    download.mkdir()
    seen: list[int] = []

    def look_as_a_stranger(_: int, request: Exchange) -> bool:
        if request.command == "PATCH":  # the draft is complete, and about to become public
            assert {asset.name for asset in hub.releases[0].assets} == {*LISTS, bundle.name}
            seen.append(curl(hub, "SHA256SUMS", download))
        return False

    hub.mischief = look_as_a_stranger
    said.append(ran(street, "publish", "--to", "release", **secrets(hub)))
    hub.mischief = None
    assert seen == [22], "a draft is nobody's business: curl meets status 404"
    names = sorted(hub.public()[TAG])
    assert names == sorted([*LISTS, bundle.name])
    assert [curl(hub, name, download) for name in names] == [0] * len(names)
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=download, check=True, capture_output=True, text=True
    )
    assert f"{bundle.name}: OK" in checked.stdout
    assert (download / bundle.name).read_bytes() == bundle.read_bytes()
    assert ran(Street(tmp_path), "pick", str(download), "--host", "glibc=2.36").count(bundle.name)
    for text in said:
        assert TOKEN not in text
        assert SIGNED not in text


@pytest.mark.parametrize("place", [0, 0.5, 1], ids=["the first byte", "one in the middle", "the last byte"])
def test_one_byte_changed_after_its_tests_and_nothing_is_released(street: Street, hub: Hub, place: float) -> None:
    bundle = bundle_of(street)
    tested = bundle.read_bytes()
    spoiled = bytearray(tested)
    spoiled[int(place * (len(spoiled) - 1))] ^= 1
    bundle.unlink()  # it may be a link to the cached download
    bundle.write_bytes(spoiled)
    refused = street.cubingate("publish", "--to", "release", **secrets(hub))
    assert refused.returncode == 1
    assert hub.releases == []
    explained = street.cubingate("gate", "--lane", LANE, "--explain", LANE)
    assert explained.returncode == 1
    assert "the bundle is not the one that was built" in explained.stdout
    bundle.write_bytes(tested)
    ran(street, "publish", "--to", "release", **secrets(hub))
    assert set(hub.public()[TAG]) == {*LISTS, bundle.name}


def test_a_public_release_is_never_changed(street: Street, hub: Hub) -> None:
    ran(street, "publish", "--to", "release", **secrets(hub))
    before = hub.public()
    ran(street, "publish", "--to", "release", **secrets(hub))
    hub.releases[0].assets[0].content += b"x"
    assert hub.public() != before
    done = street.cubingate("publish", "--to", "release", **secrets(hub))
    assert done.returncode == 2
    assert "is never changed" in done.stderr


def test_where_all_lanes_or_none_are_asked_for_the_others_hold_it_back(street: Street, hub: Hub) -> None:
    matrix = street.folder / "matrix.yaml"
    matrix.write_text(matrix.read_text().replace(DESTINATION, DESTINATION.replace(", partial: true", "")))
    done = street.cubingate("publish", "--to", "release", **secrets(hub))
    assert done.returncode == 1
    assert "all lanes or none" in done.stderr
    assert hub.releases == []
