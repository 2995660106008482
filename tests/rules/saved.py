"""Saves folders as a container image in the form of ``docker save``, one layer for each folder."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def save_image(layers: Iterable[Path], out: Path, environment: dict[str, str]) -> Path:
    """Write ``out`` and return it."""
    contents = [_layer(folder) for folder in layers]
    config = {
        "os": "linux",
        "architecture": "amd64",
        "config": {"Env": [f"{name}={value}" for name, value in environment.items()]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(content)}" for content in contents]},
    }
    names = [f"{_digest(content)}/layer.tar" for content in contents]
    text = json.dumps(config).encode()
    manifest = [{"Config": f"{_digest(text)}.json", "RepoTags": ["test:latest"], "Layers": names}]
    with tarfile.open(out, "w") as archive:
        for name, content in zip(names, contents, strict=True):
            _add(archive, name, content)
        _add(archive, f"{_digest(text)}.json", text)
        _add(archive, "manifest.json", json.dumps(manifest).encode())
    return out


def _layer(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, str(path.relative_to(folder)), recursive=False)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
