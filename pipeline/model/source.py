"""Where the bytes of a bundle come from: a tree to build, or a finished bundle, each pinned; ``lane`` has them too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


NO_SOURCE = frozenset({".git", ".cubingate"})
"""Names of a local tree that are no part of what is built: what git keeps, and what this tool keeps by default."""


@dataclass(frozen=True, slots=True)
class GitSource:
    """A git repository at a ref, pinned by the commit the ref must resolve to."""

    url: str
    ref: str
    commit: str


@dataclass(frozen=True, slots=True)
class PathSource:
    """A local source tree; its digest is taken when it is read. ``sha256`` pins it when given."""

    path: Path
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class SdistSource:
    """A package registry's source archive, pinned by digest; ``subdirectory`` is the tree inside it to build."""

    package: str
    version: str
    sha256: str
    subdirectory: str = "."


@dataclass(frozen=True, slots=True)
class PrebuiltFile:
    """A bundle that was built elsewhere, on this disk."""

    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class PrebuiltUrl:
    """A bundle that was built elsewhere, to be downloaded."""

    url: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PrebuiltWheel:
    """A wheel from the package registry, pinned by digest; ``serve`` declares how its server is launched."""

    package: str
    version: str
    filename: str
    sha256: str


BuildSource = GitSource | PathSource | SdistSource
PrebuiltSource = PrebuiltFile | PrebuiltUrl | PrebuiltWheel
Source = BuildSource | PrebuiltSource
