"""From matrix.yaml to images in a registry, and no further where a byte changed since its tests."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.street import Street, write_matrix
from tests.publishers.registry_server import HASHED, PASSWORD, USERNAME, Front, Stranger, before, registry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REPOSITORY = "acme/server"
SECRETS = {"REGISTRY_USERNAME": USERNAME, "REGISTRY_PASSWORD": PASSWORD}
TAGS = {"1.0-one", "1.0-one.bundle", "latest"}


@pytest.fixture
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("registry")
    (folder / "users").write_text(f"{USERNAME}:{HASHED}\n")
    with registry(folder, htpasswd={"realm": "r", "path": str(folder / "users")}) as host, before(host) as standing:
        yield standing


def street_with_registry(folder: Path, front: Front, **more: Any) -> Street:
    publisher = {"kind": "registry", "image": f"{front.host}/{REPOSITORY}", "tags": ["latest"], **more}
    return write_matrix(folder, [{"id": "one"}], publishers={"images": publisher})


def stranger(front: Front) -> Stranger:
    return Stranger(f"{USERNAME}:{PASSWORD}@{front.behind}", REPOSITORY)


def test_a_release_is_built_tested_pushed_and_checked_by_a_stranger(tmp_path: Path, front: Front) -> None:
    street = street_with_registry(tmp_path, front)
    outputs = [street.cubingate("run", **SECRETS), street.cubingate("publish", **SECRETS)]
    assert [done.returncode for done in outputs] == [0, 0], [done.stderr for done in outputs]
    (bundle,) = (tmp_path / ".cubingate" / "lanes").glob("one/*.tar.gz")
    there = stranger(front)
    assert set(there.tags()) == TAGS
    for tag in TAGS:
        (layer,) = there.check(tag)["layers"]
        assert there.blob(layer["digest"]) == bundle.read_bytes()
        assert layer["digest"] == f"sha256:{sha256(bundle.read_bytes()).hexdigest()}"
    front.calls.clear()
    again = street.cubingate("publish", **SECRETS)
    assert again.returncode == 0, again.stderr
    assert not [call for call in front.written() if "/blobs/uploads/" not in call], "only what preflight tries"
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [text for text in (*(done.stdout + done.stderr for done in outputs),) if PASSWORD in text]
    assert not [content for content in written if PASSWORD.encode() in content]


def test_one_byte_changed_after_the_tests_is_not_pushed(tmp_path: Path, front: Front) -> None:
    street = street_with_registry(tmp_path, front)
    assert street.cubingate("run").returncode == 0
    street.change_one_byte("one")
    done = street.cubingate("publish", **SECRETS)
    assert done.returncode == 1, done.stderr
    assert front.calls == []


def test_destinations_are_asked_before_anything_is_built(tmp_path: Path, front: Front) -> None:
    street = street_with_registry(tmp_path, front)
    done = street.cubingate("publish", "--preflight", **SECRETS)
    assert (done.returncode, done.stderr) == (0, "images: ready\n")
    done = street.cubingate("publish", "--preflight", REGISTRY_PASSWORD="")
    assert done.returncode == 2
    assert "set REGISTRY_USERNAME and REGISTRY_PASSWORD" in done.stderr


def test_a_dry_run_compares_and_changes_nothing(tmp_path: Path, front: Front) -> None:
    street = street_with_registry(tmp_path, front)
    assert street.cubingate("run").returncode == 0
    done = street.cubingate("publish", "--dry-run", **SECRETS)
    assert done.returncode == 0, done.stderr
    assert "would publish fixture-1.0-linux-x86_64.tar.gz" in done.stderr
    assert stranger(front).get("tags/list").status_code == 404
    assert street.cubingate("publish", **SECRETS).returncode == 0
    tags = stranger(front).tags()
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(matrix.read_text().replace("kind: registry", "kind: registry\n    licenses: MIT"))
    done = street.cubingate("publish", "--dry-run", **SECRETS)
    assert done.returncode == 2, done.stderr
    assert "1.0-one is there with other bytes" in done.stderr
    assert stranger(front).tags() == tags


def test_tags_that_nobody_can_have_are_told_before_anything_is_built(tmp_path: Path, front: Front) -> None:
    street = street_with_registry(tmp_path, front, lead="two")
    done = street.cubingate("publish", "--preflight", **SECRETS)
    assert done.returncode == 2
    assert "lead: two is no lane (write one of one)" in done.stderr
    assert front.calls == []
