from __future__ import annotations

import hashlib
import http.server
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import CorruptInput, InfrastructureError, UsageError
from pipeline.model.lane import ServedModel
from pipeline.serve import model as served_model
from pipeline.serve.generated.recipe import KNOWN_TOKEN, recipe
from pipeline.serve.model import fetched_model, generated_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TINY = recipe("tiny")


def test_it_is_generated_once_and_again_when_the_cached_one_is_damaged(tmp_path: Path) -> None:
    first = generated_model(TINY, tmp_path)
    assert first.expected_token == KNOWN_TOKEN
    written = first.path.stat().st_mtime_ns
    assert generated_model(TINY, tmp_path) == first
    assert first.path.stat().st_mtime_ns == written
    first.path.write_bytes(b"damaged")
    assert generated_model(TINY, tmp_path) == first
    assert hashlib.sha256(first.path.read_bytes()).hexdigest() == first.sha256
    assert [path.name for path in (tmp_path / "models").iterdir()] == [first.sha256], "nothing unfinished is left"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A web server with one model."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "served.gguf").write_bytes(b"GGUF model")
    handler = partial(Quiet, directory=str(tmp_path / "web"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


DIGEST = hashlib.sha256(b"GGUF model").hexdigest()


def test_a_model_by_url_is_fetched_once(web: str, tmp_path: Path) -> None:
    model = ServedModel(f"{web}/served.gguf", DIGEST.upper(), "Paris")
    prepared = fetched_model(model, tmp_path)
    assert prepared.path.read_bytes() == b"GGUF model"
    assert (prepared.sha256, prepared.expected_token) == (DIGEST, "Paris")
    (tmp_path / "web" / "served.gguf").unlink()
    assert fetched_model(model, tmp_path) == prepared


def test_a_model_of_another_digest_is_corrupt_and_not_kept(web: str, tmp_path: Path) -> None:
    with pytest.raises(CorruptInput, match=f"has SHA-256 {DIGEST}, declared {'0' * 64}"):
        fetched_model(ServedModel(f"{web}/served.gguf", "0" * 64, "Paris"), tmp_path)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_model_without_end_does_not_fill_the_disk(web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_model, "LARGEST_MODEL", 4)
    with pytest.raises(CorruptInput, match="larger than"):
        fetched_model(ServedModel(f"{web}/served.gguf", DIGEST, "Paris"), tmp_path)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_model_that_cannot_be_had_is_infrastructure(web: str, tmp_path: Path) -> None:
    for url in (f"{web}/absent.gguf", "http://127.0.0.1:1/served.gguf", "nonsense"):
        with pytest.raises(InfrastructureError, match="cannot download"):
            fetched_model(ServedModel(url, DIGEST, "Paris"), tmp_path)


@pytest.mark.parametrize("model", [ServedModel("http://x/a.gguf", None, "x"), ServedModel("http://x/a.gguf", DIGEST)])
def test_a_url_needs_its_digest_and_its_token(tmp_path: Path, model: ServedModel) -> None:
    with pytest.raises(UsageError, match="lacks"):
        fetched_model(model, tmp_path)
