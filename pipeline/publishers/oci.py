"""The documents of an artifact and of an image, written so that the same content always has the same digest.

Source: OCI image-spec 1.1 (manifest, config, descriptor, annotations).
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER_TAR = "application/vnd.oci.image.layer.v1.tar"
LAYER_GZIP = "application/vnd.oci.image.layer.v1.tar+gzip"
BUNDLE = "application/vnd.cubingate.bundle.v1"
"""The type of an artifact whose one layer is a bundle."""
_EMPTY = "application/vnd.oci.empty.v1+json"
_TITLE = "org.opencontainers.image.title"
_FROM_DOCKER = {
    "application/vnd.docker.image.rootfs.diff.tar": LAYER_TAR,
    "application/vnd.docker.image.rootfs.diff.tar.gzip": LAYER_GZIP,
}


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes that a registry keeps under their digest: a file's, or a small document's."""

    media_type: str
    digest: str
    size: int
    content: Path | bytes

    @classmethod
    def of(cls, media_type: str, content: bytes) -> Blob:
        """A document."""
        return cls(media_type, f"sha256:{hashlib.sha256(content).hexdigest()}", len(content), content)

    def opened(self) -> IO[bytes]:
        """Its bytes, from the first."""
        return io.BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open("rb")


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer as a manifest names it; ``blob`` is ``None`` where it lies in another repository."""

    media_type: str
    digest: str
    size: int
    diff_id: str
    blob: Blob | None = None


@dataclass(frozen=True, slots=True)
class Base:
    """What an image is built on: the configuration and the layers of another one, or of none (``scratch``)."""

    config: dict[str, Any]
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """How the image starts its server: where the bundle lies, the command, and variables that are set or taken away."""

    folder: str
    entrypoint: tuple[str, ...]
    environment: dict[str, str]
    dropped: frozenset[str]


@dataclass(frozen=True, slots=True)
class Packed:
    """A manifest and the blobs that are sent before it. ``others`` are layers that lie in the base's repository."""

    manifest: Blob
    blobs: tuple[Blob, ...]
    others: tuple[Layer, ...] = ()


def artifact(bundle: Blob, name: str, notes: Mapping[str, str]) -> Packed:
    """The bundle as it is: an artifact whose one layer has the digest of the file."""
    config = Blob.of(_EMPTY, b"{}")
    layer = {**_descriptor(bundle), "annotations": {_TITLE: name}}
    content = {"artifactType": BUNDLE, "config": _descriptor(config), "layers": [layer], "annotations": dict(notes)}
    return Packed(_manifest(content), (config, bundle))


def image(base: Base, layer: Layer, start: Start, notes: Mapping[str, str], created: str | None) -> Packed:
    """The bundle on its base: nothing is built, one layer more is named."""
    config = Blob.of(CONFIG, written(_config(base, layer, start, notes, created)))
    layers = [*base.layers, layer]
    content = {
        "config": _descriptor(config),
        "layers": [{"mediaType": row.media_type, "digest": row.digest, "size": row.size} for row in layers],
        "annotations": dict(notes),
    }
    own = (layer.blob,) if layer.blob is not None else ()
    return Packed(_manifest(content), (config, *own), base.layers)


def written(content: Mapping[str, Any]) -> bytes:
    """JSON in one spelling: sorted, without spaces, ASCII."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def as_oci(media_type: str) -> str:
    """The OCI name of a layer's media type that Docker calls otherwise; the bytes are the same."""
    return _FROM_DOCKER.get(media_type, media_type)


def _manifest(content: Mapping[str, Any]) -> Blob:
    return Blob.of(MANIFEST, written({"schemaVersion": 2, "mediaType": MANIFEST, **content}))


def _descriptor(blob: Blob) -> dict[str, Any]:
    return {"mediaType": blob.media_type, "digest": blob.digest, "size": blob.size}


def _config(base: Base, layer: Layer, start: Start, notes: Mapping[str, str], created: str | None) -> dict[str, Any]:
    steps = [*(base.config.get("history") or []), {"created_by": f"cubingate: the bundle in {start.folder}"}]
    return {
        **{key: base.config[key] for key in ("architecture", "os", "variant", "os.version") if key in base.config},
        **({"created": created} if created else {}),
        "config": _settings(base.config.get("config") or {}, start, notes),
        "rootfs": {"type": "layers", "diff_ids": [row.diff_id for row in (*base.layers, layer)]},
        "history": steps,
    }


def _settings(inherited: Mapping[str, Any], start: Start, notes: Mapping[str, str]) -> dict[str, Any]:
    """The base's settings, except what it says of itself and what it would start."""
    labels = {key: value for key, value in (inherited.get("Labels") or {}).items() if not _about_the_base(key)}
    kept = ("User", "ExposedPorts", "Volumes", "StopSignal", "Shell")
    settings = {key: inherited[key] for key in kept if inherited.get(key)}
    settings["Env"] = _environment(inherited.get("Env") or [], start)
    settings["Labels"] = {**labels, **notes}
    settings["WorkingDir"] = start.folder
    if start.entrypoint:
        settings["Entrypoint"] = list(start.entrypoint)
    else:
        settings |= {key: inherited[key] for key in ("Entrypoint", "Cmd") if inherited.get(key)}
    return settings


def _about_the_base(label: str) -> bool:
    return label.startswith(("org.opencontainers.image.", "io.cubingate."))


def _environment(inherited: Sequence[str], start: Start) -> list[str]:
    values = dict(line.partition("=")[::2] for line in inherited)
    values = {name: value for name, value in values.items() if not _drops(name, start.dropped)} | start.environment
    return [f"{name}={value}" for name, value in values.items()]


def _drops(name: str, dropped: frozenset[str]) -> bool:
    return name in dropped or any(word.endswith("*") and name.startswith(word[:-1]) for word in dropped)
