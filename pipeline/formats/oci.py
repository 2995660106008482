"""Container images' JSON: OCI indexes, manifests and configurations, and the ``manifest.json`` of ``docker save``.

Source: OCI image-spec 1.1 (image-layout, image-index, manifest, config, layer); moby image/spec/v1.2.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pipeline.binary import FormatError

DOCUMENT = 8 << 20
"""The largest JSON document that is read; registries take at most 4 MiB."""
CONFIGS = ("application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json")
"""Media types of images' configurations; a manifest with any other one is of something else."""
_LAYERS = 1_000
_IMAGES = 1_000
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What one blob refers to another one by; ``platform`` (``linux/arm64``) and ``name`` are empty where not said.

    ``urls`` are where the content of a foreign layer lies, which need not be in the image.
    """

    media_type: str
    digest: str
    size: int
    platform: str = ""
    name: str = ""
    urls: tuple[str, ...] = ()

    @property
    def is_foreign(self) -> bool:
        """Whether the content may be left out of the image."""
        return "nondistributable" in self.media_type or "foreign" in self.media_type

    @property
    def is_attestation(self) -> bool:
        """Whether this is a statement about an image (BuildKit's provenance and SBOM) and not one."""
        return self.platform.startswith(_UNKNOWN)


@dataclass(frozen=True, slots=True)
class Index:
    """An index: images for several platforms, or several names."""

    manifests: tuple[Descriptor, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One image: its configuration and its layers, the lowest first."""

    config: Descriptor
    layers: tuple[Descriptor, ...]


@dataclass(frozen=True, slots=True)
class SavedImage:
    """One image of ``docker save``: member names of its configuration and its layers, the lowest first."""

    config: str
    layers: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """What a configuration says; ``diff_ids`` are the digests of the layers' uncompressed archives."""

    platform: str
    environment: dict[str, str]
    labels: dict[str, str]
    diff_ids: tuple[str, ...]


def parse_manifest(data: bytes) -> Index | Manifest:
    """Read an index or a manifest, whichever it is; ``FormatError`` for anything else."""
    table = _table(_load(data), "a manifest")
    if "manifests" in table:
        found = _rows(table, "manifests", _IMAGES)
        return Index(tuple(_descriptor(row) for row in found))
    layers = _rows(table, "layers", _LAYERS)
    return Manifest(_descriptor(table.get("config")), tuple(_descriptor(row) for row in layers))


def parse_saved(data: bytes) -> tuple[SavedImage, ...]:
    """Read the ``manifest.json`` of ``docker save``; ``FormatError`` for any other JSON."""
    rows = _load(data)
    if not isinstance(rows, list) or not rows or len(rows) > _IMAGES:
        raise FormatError("a manifest.json that lists no images")
    return tuple(_saved(_table(row, "an entry of manifest.json")) for row in rows)


def _saved(table: dict[str, Any]) -> SavedImage:
    layers = _rows(table, "Layers", _LAYERS)
    if not all(isinstance(name, str) for name in layers):
        raise FormatError("a manifest.json whose layers are no names")
    tags = table.get("RepoTags") or [""]
    name = tags[0] if isinstance(tags, list) and isinstance(tags[0], str) else ""
    return SavedImage(_text(table, "Config"), tuple(layers), name)


def parse_config(data: bytes) -> ImageConfig:
    """Read an image's configuration; ``FormatError`` when it is none."""
    table = _table(_load(data), "an image's configuration")
    roots = _rows(_table(table.get("rootfs"), "an image's rootfs"), "diff_ids", _LAYERS)
    for digest in roots:
        check_digest(digest)
    settings = _table(table.get("config") or {}, "an image's config")
    return ImageConfig(platform_of(table), _environment(settings), _labels(settings), tuple(roots))


def platform_of(table: dict[str, Any]) -> str:
    """``linux/amd64`` or ``linux/arm/v7``; empty where nothing is said."""
    words = [table.get(key) for key in ("os", "architecture", "variant")]
    return "/".join(word for word in words if isinstance(word, str) and word)


def _environment(settings: dict[str, Any]) -> dict[str, str]:
    lines = settings.get("Env") or []
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise FormatError("an image whose environment is no list of words")
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def _labels(settings: dict[str, Any]) -> dict[str, str]:
    labels = _table(settings.get("Labels") or {}, "an image's labels")
    return {name: value for name, value in labels.items() if isinstance(value, str)}


def check_digest(digest: object) -> str:
    """The digest itself; ``FormatError`` unless it is a SHA-256 as images write it."""
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise FormatError(f"a digest that is no SHA-256: {str(digest)[:80]!r}")
    return digest


def _descriptor(row: object) -> Descriptor:
    table = _table(row, "a descriptor")
    size = table.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise FormatError("a descriptor without a size")
    notes = _table(table.get("annotations") or {}, "a descriptor's annotations")
    name = notes.get("io.containerd.image.name") or notes.get("org.opencontainers.image.ref.name")
    attests = "vnd.docker.reference.type" in notes
    urls = table.get("urls") or []
    return Descriptor(
        media_type=str(table.get("mediaType") or ""),
        digest=check_digest(table.get("digest")),
        size=size,
        platform=_UNKNOWN if attests else platform_of(_table(table.get("platform") or {}, "a platform")),
        name=name if isinstance(name, str) else "",
        urls=tuple(url for url in urls if isinstance(url, str)) if isinstance(urls, list) else (),
    )


def _load(data: bytes) -> object:
    if len(data) > DOCUMENT:
        raise FormatError(f"a JSON document of more than {DOCUMENT} bytes")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError("damaged JSON in an image") from error


def _table(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{what} that is no JSON object")
    return value


def _rows(table: dict[str, Any], key: str, most: int) -> list[Any]:
    rows = table.get(key)
    if not isinstance(rows, list):
        raise FormatError(f"an image's JSON without {key!r}")
    if len(rows) > most:
        raise FormatError(f"an image with {len(rows)} {key}, more than {most}")
    return rows


def _text(table: dict[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        raise FormatError(f"an image's JSON without {key!r}")
    return value
