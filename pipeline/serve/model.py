"""The GGUF that a smoke serves: generated here, byte for byte the same everywhere, or fetched by digest."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.digest import file_sha256
from pipeline.errors import CorruptInput, InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import gguf

    from pipeline.model.lane import ServedModel

GENERATED_NAME = "cubingate-tiny-1"  # the number goes up with every change of the bytes
KNOWN_TOKEN = "ok"
DECOY_TOKEN = "no"
EXPECTED_TOKEN_KEY = "cubingate.expected_token"
CONTEXT = 512
_DOWNLOAD_TIMEOUT = 60.0  # seconds without a byte


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A GGUF on disk, the digest of its bytes, and the text of the token that it must answer with."""

    path: Path
    sha256: str
    expected_token: str


def prepare_model(model: ServedModel, cache: Path) -> PreparedModel:
    """Return the model to serve, from ``cache`` where it is there already.

    ``CorruptInput`` when a download has another digest, ``InfrastructureError`` when it cannot be had,
    ``UsageError`` when a URL comes without digest or expected token.
    """
    if model.url is None:
        return generated_model(cache)
    if model.sha256 is None or model.expected_token is None:
        raise UsageError(
            f"the model {model.url} lacks its sha256 or its expected_token", remedy="add both to smoke.model"
        )
    path = _fetched(model.url, model.sha256.lower(), cache)
    return PreparedModel(path, model.sha256.lower(), model.expected_token)


def generated_model(cache: Path) -> PreparedModel:
    """Return the generated model, written to ``cache/models/SHA256/`` on first use."""
    for path in sorted((cache / "models").glob(f"*/{GENERATED_NAME}.gguf")):
        if file_sha256(path) == path.parent.name:
            return PreparedModel(path, path.parent.name, KNOWN_TOKEN)
    with _scratch_file(cache) as scratch:
        write_generated(scratch)
        digest = file_sha256(scratch)
        path = _settle(scratch, cache / "models" / digest / f"{GENERATED_NAME}.gguf")
    return PreparedModel(path, digest, KNOWN_TOKEN)


def write_generated(path: Path) -> None:
    """Write the generated GGUF: llama architecture, 2 layers, Q8_0 matrices, byte tokens plus the two answers."""
    import gguf  # imports numpy: too slow for the start of a command
    from gguf.quants import quantize

    from pipeline.serve import weights

    writer = gguf.GGUFWriter(path, "llama")
    _write_keys(writer)
    tokens = _write_vocabulary(writer)
    for name, vector in weights.norms().items():
        writer.add_tensor(name, vector)
    drawn = weights.matrices(len(tokens), tokens.index(KNOWN_TOKEN), tokens.index(DECOY_TOKEN))
    packing = gguf.GGMLQuantizationType.Q8_0
    for name, matrix in drawn.items():
        writer.add_tensor(name, quantize(matrix, packing), raw_dtype=packing)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_keys(writer: gguf.GGUFWriter) -> None:
    from pipeline.serve import weights

    writer.add_name(GENERATED_NAME)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(weights.WIDTH)
    writer.add_block_count(weights.LAYERS)
    writer.add_feed_forward_length(weights.FEED_FORWARD)
    writer.add_head_count(weights.HEADS)
    writer.add_head_count_kv(weights.HEADS_KV)
    writer.add_key_length(weights.HEAD)
    writer.add_value_length(weights.HEAD)
    writer.add_rope_dimension_count(weights.HEAD)
    writer.add_layer_norm_rms_eps(weights.EPSILON)
    writer.add_string(EXPECTED_TOKEN_KEY, KNOWN_TOKEN)


def _write_vocabulary(writer: gguf.GGUFWriter) -> list[str]:
    """Write a SentencePiece vocabulary that can encode any text; return its pieces in order."""
    from gguf import TokenType

    pieces = [
        ("<unk>", TokenType.UNKNOWN),
        ("<s>", TokenType.CONTROL),
        ("</s>", TokenType.CONTROL),
        *((f"<0x{byte:02X}>", TokenType.BYTE) for byte in range(256)),
        *((piece, TokenType.NORMAL) for piece in ("\u2581", KNOWN_TOKEN, DECOY_TOKEN)),
    ]
    tokens = [piece for piece, _ in pieces]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind for _, kind in pieces])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    return tokens


def _fetched(url: str, sha256: str, cache: Path) -> Path:
    settled = cache / "models" / sha256 / _name_in(url)
    if settled.is_file() and file_sha256(settled) == sha256:
        return settled
    with _scratch_file(cache) as scratch:
        _download(url, scratch)
        found = file_sha256(scratch)
        if found != sha256:
            raise CorruptInput(
                f"the model {url} has SHA-256 {found}, declared {sha256}",
                remedy="somebody replaced the file, or smoke.model.sha256 is mistyped",
            )
        return _settle(scratch, settled)


def _name_in(url: str) -> str:
    name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
    return name if name.endswith(".gguf") else "model.gguf"


def _download(url: str, to: Path) -> None:
    import requests  # loads slowly

    try:
        with requests.get(url, stream=True, timeout=_DOWNLOAD_TIMEOUT) as response, to.open("wb") as file:
            response.raise_for_status()
            for chunk in response.iter_content(1 << 20):
                file.write(chunk)
    except requests.RequestException as error:
        raise InfrastructureError(f"cannot download the model {url}: {error}") from error


@contextmanager
def _scratch_file(cache: Path) -> Iterator[Path]:
    """A file beside the cached ones: what is not finished and checked is never found by a later run."""
    folder = cache / "models"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=folder) as scratch:
        yield Path(scratch) / "model.gguf"


def _settle(scratch: Path, settled: Path) -> Path:
    settled.parent.mkdir(parents=True, exist_ok=True)
    return scratch.replace(settled)
