"""The base of a runtime image, read from the registry where it lies by the digest that pins it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pipeline.binary import FormatError
from pipeline.errors import CorruptInput, UsageError
from pipeline.formats.oci import DOCUMENT, Index, Manifest, parse_config, parse_manifest
from pipeline.model.paths import printable
from pipeline.model.target import Platform
from pipeline.publishers.oci import Base, Layer, as_oci
from pipeline.publishers.registry_api import Place

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.formats.oci import ImageConfig
    from pipeline.model.lane import BaseImage
    from pipeline.publishers.registry_api import Repository

_MACHINE = {Platform.X86_64: "amd64", Platform.AARCH64: "arm64"}
_HUB = ("docker.io", "index.docker.io")
_HUB_REGISTRY = "registry-1.docker.io"
_TAG = re.compile(r":[\w][\w.-]{0,127}\Z", re.ASCII)


def place_of(reference: str, *, plain: bool = False) -> Place:
    """Where an image lies, by Docker's rules for names: ``debian:bookworm`` is Docker Hub's ``library/debian``."""
    name = _TAG.sub("", reference.partition("@")[0])
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost") and first not in _HUB:
        return Place(first, rest, plain)
    path = rest if first in _HUB else name
    return Place(_HUB_REGISTRY, path if "/" in path else f"library/{path}")


def scratch(platform: Platform) -> Base:
    """No base: an image of the bundle alone."""
    return Base({"architecture": _MACHINE[platform], "os": "linux"}, ())


def read_base(repository: Repository, image: BaseImage, platform: Platform, folder: Path) -> Base:
    """The configuration and the layers of the image for ``platform``.

    ``UsageError`` when it is not there or not for that platform, ``CorruptInput`` when it is no image.
    """
    try:
        manifest = _manifest(repository, image, str(image.digest), platform)
        raw = _config(repository, manifest, folder / "config.json")
        config = parse_config(raw)
        base = Base(_with_history(json.loads(raw)), _layers(manifest, config))
    except FormatError as error:
        raise CorruptInput(f"{image.reference} is not an image: {error}") from error
    if config.platform.split("/")[:2] != ["linux", _MACHINE[platform]]:
        raise UsageError(f"{image.reference} is for {printable(config.platform)}, not for {platform}")
    return base


def _with_history(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration itself, whose history ours is added to."""
    if not isinstance(config.get("history") or [], list):
        raise FormatError("a history that is no list")
    return config


def _config(repository: Repository, manifest: Manifest, path: Path) -> bytes:
    if manifest.config.size > DOCUMENT:
        raise FormatError("a configuration that is too large")
    repository.download(manifest.config.digest, manifest.config.size, path)
    return path.read_bytes()


def _layers(manifest: Manifest, config: ImageConfig) -> tuple[Layer, ...]:
    if len(config.diff_ids) != len(manifest.layers) or any(row.is_foreign for row in manifest.layers):
        raise FormatError("layers that are not all its own")
    return tuple(
        Layer(as_oci(row.media_type), row.digest, row.size, diff_id)
        for row, diff_id in zip(manifest.layers, config.diff_ids, strict=True)
    )


def _manifest(repository: Repository, image: BaseImage, digest: str, platform: Platform) -> Manifest:
    content = repository.manifest(digest)
    if content is None:
        raise UsageError(f"there is no {image.reference} with the digest {digest}", remedy="pin one that is there")
    found = parse_manifest(content)
    if not isinstance(found, Index):
        return found
    for row in found.manifests:
        if row.platform.split("/")[:2] == ["linux", _MACHINE[platform]] and row.digest != digest:
            chosen = parse_manifest(repository.manifest(row.digest) or b"")
            if isinstance(chosen, Manifest):
                return chosen
    raise UsageError(f"{image.reference} has no image for {platform}")
