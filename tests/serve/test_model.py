from __future__ import annotations

import hashlib
import http.server
import random
import threading
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.errors import CorruptInput, InfrastructureError, UsageError
from pipeline.model.lane import ServedModel
from pipeline.serve.model import KNOWN_TOKEN, generated_model, prepare_model
from tests.serve import reference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BYTES, KNOWN, DECOY = range(3, 259), 260, 261
CHAINED = [
    f"blk.{layer}.{part}.weight"
    for layer in (0, 1)
    for part in ("attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
]


@pytest.fixture(scope="module")
def weights(models: Path) -> dict[str, reference.Array]:
    return reference.read_weights(generated_model(models).path)


def prompts(count: int, longest: int) -> list[list[int]]:
    chance = random.Random(20261130)
    drawn = [[1, *chance.choices(BYTES, k=chance.randint(0, longest))] for _ in range(count)]
    # The extremes that chance does not draw: nothing at all, and each byte alone, many times over.
    return [*drawn, [1], [], *([1, *[byte] * 40] for byte in list(BYTES)[::16]), list(BYTES), [1, *[KNOWN, DECOY] * 20]]


def margin(logits: reference.Array) -> float:
    """By how many nats the known token leads; negative when another one does."""
    return float(logits[KNOWN] - np.delete(logits, KNOWN).max())


def test_the_bytes_are_the_same_everywhere(models: Path) -> None:
    model = generated_model(models)
    assert model.sha256 == "fde390c97f3c6e44647b136891f08fd4772ec7e60b5cfd9d34d61d21d647a68f"
    assert model.path.stat().st_size < 1_000_000
    assert model.expected_token == KNOWN_TOKEN


def test_it_is_generated_once_and_again_when_the_cached_one_is_damaged(tmp_path: Path) -> None:
    first = generated_model(tmp_path)
    written = first.path.stat().st_mtime_ns
    assert generated_model(tmp_path) == first
    assert first.path.stat().st_mtime_ns == written
    first.path.write_bytes(b"damaged")
    assert generated_model(tmp_path) == first
    assert hashlib.sha256(first.path.read_bytes()).hexdigest() == first.sha256
    assert [path.name for path in (tmp_path / "models").iterdir()] == [first.sha256], "nothing unfinished is left"


def test_the_known_token_leads_by_more_than_two_nats_whatever_the_prompt(weights: dict[str, reference.Array]) -> None:
    assert min(margin(reference.logits(weights, prompt)) for prompt in prompts(30, 100) if prompt) > 3.5


@pytest.mark.parametrize("broken", CHAINED)
def test_a_matrix_that_multiplies_to_zero_lets_the_decoy_win(weights: dict[str, reference.Array], broken: str) -> None:
    logits = reference.logits(weights, [1, *BYTES[40:80]], broken=[broken])
    assert int(logits.argmax()) == DECOY
    assert margin(logits) < -2


def test_not_a_number_anywhere_spoils_the_answer(weights: dict[str, reference.Array]) -> None:
    spoiled = weights | {"blk.0.attn_q.weight": weights["blk.0.attn_q.weight"] * np.nan}
    assert np.isnan(reference.logits(spoiled, [1, 50, 60])).all()


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
    prepared = prepare_model(model, tmp_path)
    assert prepared.path.read_bytes() == b"GGUF model"
    assert (prepared.sha256, prepared.expected_token) == (DIGEST, "Paris")
    (tmp_path / "web" / "served.gguf").unlink()
    assert prepare_model(model, tmp_path) == prepared


def test_a_model_of_another_digest_is_corrupt_and_not_kept(web: str, tmp_path: Path) -> None:
    with pytest.raises(CorruptInput, match=f"has SHA-256 {DIGEST}, declared {'0' * 64}"):
        prepare_model(ServedModel(f"{web}/served.gguf", "0" * 64, "Paris"), tmp_path)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_model_that_cannot_be_had_is_infrastructure(web: str, tmp_path: Path) -> None:
    for url in (f"{web}/absent.gguf", "http://127.0.0.1:1/served.gguf", "nonsense"):
        with pytest.raises(InfrastructureError, match="cannot download"):
            prepare_model(ServedModel(url, DIGEST, "Paris"), tmp_path)


@pytest.mark.parametrize("model", [ServedModel("http://x/a.gguf", None, "x"), ServedModel("http://x/a.gguf", DIGEST)])
def test_a_url_needs_its_digest_and_its_token(tmp_path: Path, model: ServedModel) -> None:
    with pytest.raises(UsageError, match="lacks"):
        prepare_model(model, tmp_path)
