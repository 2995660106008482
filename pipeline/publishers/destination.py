"""What every destination can do, and which kind of matrix.yaml is which."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.gate import Approved
    from pipeline.model.lane import Publisher

_API = "https://api.github.com"


class Destination(Protocol):
    """A place where a release becomes public: all of these bundles, or what was there before."""

    def preflight(self) -> None:
        """Raise what would stop a publication, before anything is built."""

    def publish(self, approved: Sequence[Approved]) -> str:
        """Publish, read back, and return where it is; safe to repeat after any interruption."""


def destination(publisher: Publisher, environment: Mapping[str, str]) -> Destination:
    """The destination that matrix.yaml describes; ``UsageError`` when the environment lacks what it needs."""
    if publisher.kind == "directory":
        from pipeline.publishers.directory import Directory

        return Directory(Path(publisher.location))
    if publisher.kind == "github":
        return _github(publisher, environment)
    if publisher.kind == "python-index":
        return _python_index(publisher, environment)
    raise UsageError(f"{publisher.name}: no publisher of kind {publisher.kind!r}")


def _github(publisher: Publisher, environment: Mapping[str, str]) -> Destination:
    from pipeline.publishers.github import GithubReleases
    from pipeline.publishers.github_api import Github

    token = environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN")
    if not token:
        raise UsageError(f"{publisher.name}: no token", remedy="set GITHUB_TOKEN, with the permission contents: write")
    if publisher.tag is None:
        raise UsageError(f"{publisher.name}: no tag", remedy="add tag: to the publisher")
    api = environment.get("GITHUB_API_URL") or _API  # which a workflow on an enterprise server sets
    return GithubReleases(Github(api, publisher.location, token), publisher.tag, environment.get("GITHUB_SHA") or None)


def _python_index(publisher: Publisher, environment: Mapping[str, str]) -> Destination:
    from pipeline.publishers.python_index import PythonIndex

    password = environment.get("TWINE_PASSWORD")
    if not password:
        raise UsageError(f"{publisher.name}: no token", remedy="set TWINE_PASSWORD (and TWINE_USERNAME for a password)")
    if publisher.simple is None:
        raise UsageError(f"{publisher.name}: no simple API", remedy="add simple: to the publisher")
    username = environment.get("TWINE_USERNAME") or "__token__"
    return PythonIndex(publisher.location, publisher.simple, username, password)
