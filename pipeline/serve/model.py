"""The GGUF that a smoke serves: generated here, byte for byte the same everywhere, or fetched by digest."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.digest import file_sha256
from pipeline.errors import CorruptInput, InfrastructureError, UsageError
from pipeline.serve.generated.recipe import KNOWN_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model.lane import ServedModel
    from pipeline.serve.generated.recipe import Recipe

_DOWNLOAD_TIMEOUT = 60.0  # seconds without a byte
LARGEST_MODEL = 64 << 30  # bytes; a server that sends without end must not fill the disk


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A GGUF on disk, the digest of its bytes, and the text of the token that it must answer with."""

    path: Path
    sha256: str
    expected_token: str


def fetched_model(model: ServedModel, cache: Path) -> PreparedModel:
    """Return the model of a URL, from ``cache`` where it is there already.

    ``CorruptInput`` when the download has another digest or no end, ``InfrastructureError`` when it cannot be had,
    ``UsageError`` when the URL comes without digest or expected token.
    """
    if model.url is None or model.sha256 is None or model.expected_token is None:
        raise UsageError(
            f"the model {model.url} lacks its sha256 or its expected_token", remedy="add both to smoke.model"
        )
    path = _fetched(model.url, model.sha256.lower(), cache)
    return PreparedModel(path, model.sha256.lower(), model.expected_token)


def generated_model(recipe: Recipe, cache: Path) -> PreparedModel:
    """Return a generated model, written to ``cache/models/SHA256/`` on first use."""
    for path in sorted((cache / "models").glob(f"*/{recipe.file_name}")):
        if file_sha256(path) == path.parent.name:
            return PreparedModel(path, path.parent.name, KNOWN_TOKEN)
    from pipeline.serve.generated.write import write_model

    with _scratch_file(cache) as scratch:
        write_model(recipe, scratch)
        digest = file_sha256(scratch)
        path = _settle(scratch, cache / "models" / digest / recipe.file_name)
    return PreparedModel(path, digest, KNOWN_TOKEN)


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

    room = LARGEST_MODEL
    try:
        with requests.get(url, stream=True, timeout=_DOWNLOAD_TIMEOUT) as response, to.open("wb") as file:
            response.raise_for_status()
            for chunk in response.iter_content(1 << 20):
                room -= file.write(chunk)
                if room < 0:
                    raise CorruptInput(f"the model {url} is larger than {LARGEST_MODEL >> 30} GiB")
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
