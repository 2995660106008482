"""Every kind of bad input ends in one clear line and the contract's status; nothing half-written is left in dist/."""

from __future__ import annotations

import io
import tarfile
import threading
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.street import SERVE, Street, write_matrix

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LANE = {"id": "one"}


def refused(street: Street, status: int, words: str, *arguments: str) -> None:
    """The command ends with ``status``, says ``words`` in lines of its own, and leaves nothing published."""
    done = street.cubingate(*(arguments or ("run",)))
    assert done.returncode == status, done.stderr + done.stdout
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert street.published() == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("version: 1\n", "version: 1\nversoin: 2\n", "matrix.yaml:2:1"),
        ("version: 1\n", "version: one\n", "matrix.yaml:1:10"),
        ("version: 1\n", "version: 1\nversion: 1\n", "matrix.yaml:2:1"),
        ("version: 1\n", "\tversion: 1\n", "matrix.yaml:1:1"),
        ("platform: x86_64", "platform: sparc", "x86_64"),
    ],
    ids=["unknown key", "wrong type", "duplicate key", "tab", "unknown choice"],
)
def test_a_mistake_in_the_matrix_is_status_2_with_its_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    street = write_matrix(tmp_path, [LANE])
    file = tmp_path / "matrix.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    refused(street, 2, words)


def test_an_empty_matrix_is_status_2(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [LANE])
    (tmp_path / "matrix.yaml").write_text("")
    refused(street, 2, "matrix.yaml")


def test_an_alias_bomb_is_status_2_and_quick(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [LANE])
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (tmp_path / "matrix.yaml").write_text("\n".join(lines))
    refused(street, 2, "matrix.yaml")


def test_no_matrix_is_status_2(tmp_path: Path) -> None:
    refused(Street(tmp_path), 2, "matrix.yaml")


def test_an_unknown_lane_is_status_2_and_a_close_one_is_named(tmp_path: Path) -> None:
    refused(write_matrix(tmp_path, [LANE]), 2, "one", "run", "--lane", "onne")


def test_a_prebuilt_bundle_of_another_digest_is_status_5(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [LANE])
    bundle = next(tmp_path.glob("*.tar.gz"))
    bundle.write_bytes(bundle.read_bytes() + b"x")
    refused(street, 5, "sha256")


def test_an_archive_that_climbs_out_is_status_5(tmp_path: Path) -> None:
    hostile = io.BytesIO()
    with tarfile.open(fileobj=hostile, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("../../escaped"), io.BytesIO())
    street = write_matrix(tmp_path, [LANE], sources=_source(tmp_path, hostile.getvalue()))
    refused(street, 5, "one")
    assert not list(tmp_path.rglob("escaped"))


def test_a_truncated_bundle_is_status_5(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [LANE])
    whole = next(tmp_path.glob("*.tar.gz")).read_bytes()
    refused(write_matrix(tmp_path, [LANE], sources=_source(tmp_path, whole[: len(whole) // 2])), 5, "one")
    assert street.published() == []


@pytest.mark.parametrize(("content", "status"), [(b"other bytes", 5), (None, 4)], ids=["digest mismatch", "gone"])
def test_a_model_that_is_not_the_pinned_one_is_never_served(tmp_path: Path, content: bytes | None, status: int) -> None:
    with served(tmp_path, content) as url:
        model = {"url": url, "sha256": "0" * 64, "expected_token": " x"}
        street = write_matrix(tmp_path, [LANE], smoke={"fixture": {"command": SERVE, "model": model}})
        refused(street, status, "one")


def test_an_unreachable_engine_leaves_source_lanes_unbuilt_and_judges_the_prebuilt(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [LANE, _source_lane()], **_sections(tmp_path))
    done = street.cubingate("run", DOCKER_HOST="unix:///nowhere.sock")
    assert done.returncode == 4, done.stderr
    assert "not built: no engine" in done.stdout
    assert street.verdicts()["one"]["verdict"] == "approved"


@contextmanager
def served(folder: Path, content: bytes | None) -> Iterator[str]:
    """A real HTTP server on the loopback that has the model, or answers 404."""
    root = folder / "http"
    root.mkdir()
    if content is not None:
        (root / "model.gguf").write_bytes(content)
    handler = partial(SimpleHTTPRequestHandler, directory=str(root))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/model.gguf"
        server.shutdown()


def _source(folder: Path, content: bytes) -> dict[str, Any]:
    bundle = folder / "hostile.tar.gz"
    bundle.write_bytes(content)
    return {"fixture": {"file": bundle.name, "sha256": sha256(content).hexdigest()}}


def _source_lane() -> dict[str, Any]:
    return {"id": "built", "source": "tree", "base_image": "base", "recipe": "tree"}


def _sections(folder: Path) -> dict[str, Any]:
    (folder / "tree").mkdir()
    (folder / "tree" / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(x CXX)\n")
    return {
        "sources": {"tree": {"path": "tree"}},
        "base_images": {"base": {"reference": "debian:bookworm-slim"}},
        "recipes": {"tree": {"dockerfile": "llama.cpp.Dockerfile", "cmake_target": "x", "install": {"x": "bin/x"}}},
    }
