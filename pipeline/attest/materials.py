"""What a bundle was made from, by name, version and digest, as package URLs name things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never
from urllib.parse import quote

from pipeline.model.lane import (
    GitSource,
    PathSource,
    PrebuiltFile,
    PrebuiltUrl,
    PrebuiltWheel,
    SdistSource,
)

if TYPE_CHECKING:
    from pipeline.model.lane import Lane


@dataclass(frozen=True, slots=True)
class Material:
    """One thing that went into a bundle. ``purl`` is its package URL, ``uri`` where it comes from."""

    name: str
    version: str | None
    purl: str
    uri: str | None = None
    sha256: str | None = None
    commit: str | None = None


def materials(lane: Lane) -> tuple[Material, ...]:
    """The lane's source, and for a built one its toolkit and base image."""
    found = [_source(lane)]
    if lane.toolkit is not None:
        version = str(lane.toolkit)
        found.append(Material("cuda-toolkit", version, f"pkg:generic/nvidia/cuda-toolkit@{version}"))
    if lane.base_image is not None and not lane.prebuilt:
        found.append(_image(lane.base_image.reference, lane.base_image.digest))
    return tuple(found)


def _source(lane: Lane) -> Material:
    source, version = lane.source, lane.bundle.version
    match source:
        case GitSource(url, ref, commit):
            purl = f"pkg:generic/{lane.bundle.name}@{quote(ref)}?vcs_url={quote(f'git+{url}@{commit}', safe='')}"
            return Material(lane.bundle.name, ref, purl, f"git+{url}@{ref}", commit=commit)
        case SdistSource(package, release, sha256):
            return Material(package, release, f"pkg:pypi/{package.lower()}@{release}", sha256=sha256)
        case PrebuiltWheel(package, release, filename, sha256):
            purl = f"pkg:pypi/{package.lower()}@{release}?file_name={quote(filename, safe='')}"
            return Material(package, release, purl, sha256=sha256)
        case PrebuiltUrl(url, sha256):
            return Material(lane.bundle.name, version, _generic(lane), url, sha256)
        case PathSource(path, sha256):
            return Material(path.name, version, _generic(lane), sha256=sha256)
        case PrebuiltFile(path, sha256):
            return Material(path.name, version, _generic(lane), sha256=sha256)
        case _:
            assert_never(source)


def _generic(lane: Lane) -> str:
    return f"pkg:generic/{quote(lane.bundle.name)}@{quote(lane.bundle.version)}"


def _image(reference: str, digest: str | None) -> Material:
    name, _, tag = reference.rpartition("/")[2].partition(":")
    if digest is not None:
        purl, sha256 = f"pkg:oci/{name}@{quote(digest, safe='')}", digest.removeprefix("sha256:")
        return Material(name, digest, purl, reference, sha256)
    return Material(name, tag or None, f"pkg:oci/{name}?tag={quote(tag or 'latest')}", reference)
