"""Container images made by hand: what no real tool writes, or writes only for money."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
FOREIGN_TYPE = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a layer: a file unless ``kind`` says otherwise."""

    name: str
    content: bytes = b""
    kind: bytes = tarfile.REGTYPE
    link: str = ""


def folder(name: str) -> Member:
    return Member(name, kind=tarfile.DIRTYPE)


def symlink(name: str, target: str) -> Member:
    return Member(name, kind=tarfile.SYMTYPE, link=target)


def hardlink(name: str, target: str) -> Member:
    return Member(name, kind=tarfile.LNKTYPE, link=target)


def layer(*members: Member) -> bytes:
    """An uncompressed layer."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            row = tarfile.TarInfo(member.name)
            row.type, row.linkname, row.size = member.kind, member.link, len(member.content)
            archive.addfile(row, io.BytesIO(member.content))
    return buffer.getvalue()


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def config(diff_ids: list[str], *, platform: str = "linux/amd64", **settings: Any) -> bytes:
    system, _, machine = platform.partition("/")
    rootfs = {"type": "layers", "diff_ids": diff_ids}
    return json.dumps({"os": system, "architecture": machine, "config": settings, "rootfs": rootfs}).encode()


@dataclass(slots=True)
class Layout:
    """An OCI layout that grows: blobs, and what the index lists."""

    files: dict[str, bytes] = field(default_factory=dict)
    listed: list[dict[str, Any]] = field(default_factory=list)

    def blob(self, content: bytes, media_type: str, **more: Any) -> dict[str, Any]:
        """Store a blob and describe it."""
        self.files[f"blobs/{digest(content).replace(':', '/')}"] = content
        return {"mediaType": media_type, "digest": digest(content), "size": len(content), **more}

    def image(
        self, layers: list[bytes], *, packed: list[bytes] | None = None, platform: str = "linux/amd64", **settings: Any
    ) -> dict[str, Any]:
        """Store an image and describe its manifest; ``packed`` are the layers as they are stored."""
        made = self.blob(config([digest(data) for data in layers], platform=platform, **settings), CONFIG_TYPE)
        rows = [self.blob(data, LAYER_TYPE) for data in packed or layers]
        return self.manifest(made, rows)

    def manifest(self, made: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Store a manifest and describe it."""
        content = json.dumps({"schemaVersion": 2, "config": made, "layers": rows}).encode()
        return self.blob(content, MANIFEST_TYPE)

    def parts(self) -> dict[str, bytes]:
        """All files, the index last."""
        index = json.dumps({"schemaVersion": 2, "manifests": self.listed}).encode()
        return {**self.files, "oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": index}


def oci(*layers: bytes, **more: Any) -> dict[str, bytes]:
    """The files of a layout with one image."""
    layout = Layout()
    layout.listed.append(layout.image(list(layers), **more))
    return layout.parts()


def saved(*layers: bytes, **settings: Any) -> dict[str, bytes]:
    """The members of what ``docker save`` of engines before 25 writes, its manifest last."""
    made = config([digest(data) for data in layers], **settings)
    names = [f"{hashlib.sha256(bytes([index]) + data).hexdigest()}/layer.tar" for index, data in enumerate(layers)]
    name = f"{hashlib.sha256(made).hexdigest()}.json"
    manifest = json.dumps([{"Config": name, "RepoTags": ["made/by:hand"], "Layers": names}]).encode()
    return {name: made, **dict(zip(names, layers, strict=True)), "manifest.json": manifest, "repositories": b"{}"}


def write_folder(root: Path, files: dict[str, bytes]) -> Path:
    """The files as a directory."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root
