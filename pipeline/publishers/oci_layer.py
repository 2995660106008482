"""A bundle as a layer of an image: its own bytes wherever they are one already, else what unpacks from it, packed anew.

A ``.tar.gz`` of one folder is a layer, so that the layer's digest is the one that the gate approved. Anything else (a
wheel, xz, several folders, set-id files) is unpacked and written as a plain tar: sorted, owned by 0:0, without times,
and without compression, whose bytes would hang on a library's version.
"""

from __future__ import annotations

import gzip
import hashlib
import tarfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from pipeline.digest import file_sha256
from pipeline.errors import UsageError
from pipeline.model.paths import printable
from pipeline.publishers.oci import LAYER_GZIP, LAYER_TAR, Blob, Layer
from pipeline.reproducible import add_member
from pipeline.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_DRAIN = 1 << 20
_WHITEOUT = ".wh."  # a file of that name takes away what lies below it (image-spec, layer.md)
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE)
_SET_ID = 0o6000
_ROOT = frozenset(
    (
        *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt", "proc"),
        *("root", "run", "sbin", "srv", "sys", "tmp", "usr", "var"),
    )
)
"""Folders of the Filesystem Hierarchy Standard 3.0, section 3, and of Linux: a bundle's own must be none of them."""


@dataclass(frozen=True, slots=True)
class BundleLayer:
    """The layer, the folder in which it puts the bundle, and the newest file's time (ISO 8601) where it has one."""

    layer: Layer
    folder: str
    created: str | None


def bundle_layer(bundle: Path, sha256: str, name: str, scratch: Path) -> BundleLayer:
    """The layer of an approved bundle. ``name`` is a folder's below ``/opt`` for one that has to be packed anew.

    ``CorruptInput`` for an archive that leads outside, is damaged or a bomb; ``UsageError`` for one that would take
    files of the base away.
    """
    scratch.mkdir()
    unpacked = scratch / "unpacked"
    unpacked.mkdir()
    top = unpack(bundle, unpacked)
    scan = _scan(bundle) if _is_gzip(bundle) else None
    if scan is not None and scan.top is not None:
        size, digest = bundle.stat().st_size, f"sha256:{sha256}"
        layer = Layer(LAYER_GZIP, digest, size, scan.diff_id, Blob(LAYER_GZIP, digest, size, bundle))
        return BundleLayer(layer, f"/{scan.top}", _iso(scan.newest))
    packed = scratch / "layer.tar"
    _pack(top, packed, PurePosixPath("opt", name))
    digest, size = f"sha256:{file_sha256(packed)}", packed.stat().st_size
    layer = Layer(LAYER_TAR, digest, size, digest, Blob(LAYER_TAR, digest, size, packed))
    return BundleLayer(layer, f"/opt/{name}", _iso(scan.newest if scan else None))


@dataclass(frozen=True, slots=True)
class _Scan:
    """``top`` is the one folder of an archive that may be a layer as it is; ``None`` for any other."""

    diff_id: str
    top: str | None
    newest: float | None


class _Hashing:
    """A stream whose bytes are hashed while they are read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.sha256 = hashlib.sha256()

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes."""
        piece = self._stream.read(size)
        self.sha256.update(piece)
        return piece


def _is_gzip(bundle: Path) -> bool:
    with bundle.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _scan(bundle: Path) -> _Scan:
    """Read what ``unpack`` found sound, once more, for what only a layer asks."""
    with bundle.open("rb") as raw, gzip.GzipFile(fileobj=raw) as zipped:
        stream = _Hashing(cast("IO[bytes]", zipped))
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as tar:
            members = list(tar)
        while stream.read(_DRAIN):
            pass
    times = [float(member.mtime) for member in members if member.isreg()]
    return _Scan(f"sha256:{stream.sha256.hexdigest()}", _top(members), max(times, default=None))


def _top(members: Sequence[tarfile.TarInfo]) -> str | None:
    paths = [PurePosixPath(member.name) for member in members]
    tops = {path.parts[0] for path in paths if path.parts}
    below = [path for path in paths if len(path.parts) > 1]
    if len(tops) != 1 or not below or tops & _ROOT or not all(map(_harmless, members)):
        return None
    return next(iter(tops))


def _harmless(member: tarfile.TarInfo) -> bool:
    """Whether the engine makes of it what ``unpack`` makes: no set-id bits, no capabilities, no whiteouts."""
    marked = any("xattr" in key for key in member.pax_headers)
    plain = member.type in _PLAIN and not member.mode & _SET_ID and not marked
    return plain and not any(part.startswith(_WHITEOUT) for part in PurePosixPath(member.name).parts)


def _pack(top: Path, packed: Path, folder: PurePosixPath) -> None:
    with tarfile.open(packed, "w", format=tarfile.PAX_FORMAT) as tar:
        for parent in (*reversed(folder.parents[:-1]), folder):
            add_member(tar, top, str(parent))
        for path in sorted(top.rglob("*")):
            if path.name.startswith(_WHITEOUT):
                raise UsageError(f"{printable(path.name)} would take files of the image away", remedy="rename it")
            add_member(tar, path, str(folder / path.relative_to(top)))


def _iso(seconds: float | None) -> str | None:
    """``None`` also for a time that no clock showed."""
    if seconds is None or not 0 < seconds < 1 << 34:
        return None
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
