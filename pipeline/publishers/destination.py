"""What every destination can do, and which kind of matrix.yaml is which."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.gate import Approved
    from pipeline.model.lane import ImageTerms, Lane, Publisher
    from pipeline.publishers.registry_api import Place
    from pipeline.publishers.registry_auth import Credentials

_GITHUB_REGISTRY = "ghcr.io"


class Destination(Protocol):
    """A place where a release becomes public: all of these bundles, or what was there before."""

    def preflight(self) -> None:
        """Raise what would stop a publication, before anything is built."""

    def publish(self, approved: Sequence[Approved]) -> str:
        """Publish, read back, and return where it is, in lines; safe to repeat after any interruption."""


@runtime_checkable
class Comparing(Protocol):
    """A destination that can hold what is approved against what is there, without changing anything."""

    def compare(self, approved: Sequence[Approved]) -> None:
        """Raise what would stop the publication of these bundles."""


@runtime_checkable
class Holding(Protocol):
    """A destination that can tell which bundles it has already."""

    def holds(self, item: Approved) -> bool:
        """Whether these very bytes lie there under this name."""


def destination(publisher: Publisher, environment: Mapping[str, str], lanes: Sequence[Lane] = ()) -> Destination:
    """The destination that matrix.yaml describes; ``UsageError`` when the environment lacks what it needs.

    ``lanes`` are all of matrix.yaml's: a registry's tags are settled over all of them.
    """
    if publisher.kind == "directory":
        from pipeline.publishers.directory import Directory

        return Directory(Path(publisher.location))
    if publisher.kind == "github":
        return _github(publisher, environment)
    if publisher.kind == "python-index":
        return _python_index(publisher, environment)
    if publisher.kind == "registry" and publisher.image is not None:
        return _registry(publisher, publisher.image, environment, tuple(lanes))
    raise UsageError(f"{publisher.name}: no publisher of kind {publisher.kind!r}")


def _github(publisher: Publisher, environment: Mapping[str, str]) -> Destination:
    from pipeline.publishers.github import GithubReleases
    from pipeline.publishers.github_api import API, Github

    token = environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN")
    if not token:
        raise UsageError(f"{publisher.name}: no token", remedy="set GITHUB_TOKEN, with the permission contents: write")
    if publisher.tag is None:
        raise UsageError(f"{publisher.name}: no tag", remedy="add tag: to the publisher")
    api = environment.get("GITHUB_API_URL") or API
    return GithubReleases(Github(api, publisher.location, token), publisher.tag, environment.get("GITHUB_SHA") or None)


def _python_index(publisher: Publisher, environment: Mapping[str, str]) -> Destination:
    from pipeline.publishers.address import is_confidential
    from pipeline.publishers.python_index import PythonIndex

    password = environment.get("TWINE_PASSWORD")
    if not password:
        raise UsageError(f"{publisher.name}: no token", remedy="set TWINE_PASSWORD (and TWINE_USERNAME for a password)")
    if publisher.simple is None:
        raise UsageError(f"{publisher.name}: no simple API", remedy="add simple: to the publisher")
    both = (("upload:", publisher.location), ("simple:", publisher.simple))
    clear = [] if publisher.insecure else [key for key, address in both if not is_confidential(address)]
    if clear:
        raise UsageError(
            f"{publisher.name}: {' and '.join(clear)} would be in the clear, password included",
            remedy="write https, or insecure: true",
        )
    username = environment.get("TWINE_USERNAME") or "__token__"
    return PythonIndex(publisher.location, publisher.simple, username, password)


def _registry(
    publisher: Publisher, terms: ImageTerms, environment: Mapping[str, str], lanes: tuple[Lane, ...]
) -> Destination:
    from pipeline.policy import load_policy
    from pipeline.publishers.oci_base import place_of
    from pipeline.publishers.registry import RegistryImages
    from pipeline.publishers.registry_api import Repository

    place = place_of(publisher.location, plain=terms.insecure)
    scopes, base = [f"repository:{place.name}:pull,push"], None
    if terms.base is not None:
        there = place_of(terms.base.reference)
        there = replace(there, plain=place.plain and there.host == place.host)
        pull = f"repository:{there.name}:pull"
        base = Repository(there, _credentials(there, environment, place.host), pull)
        scopes += [pull] if there.host == place.host else []  # to mount from there
    target = Repository(place, _credentials(place, environment, place.host), *scopes)
    return RegistryImages(target, base, terms, lanes, load_policy())


def _credentials(place: Place, environment: Mapping[str, str], registry: str) -> Credentials | None:
    """Whose name is given at ``place``. Nobody's anywhere but at the registry that is pushed to."""
    from pipeline.publishers.registry_auth import Credentials

    if place.host != registry:
        return None
    password = environment.get("REGISTRY_PASSWORD")
    if password:
        return Credentials(environment.get("REGISTRY_USERNAME") or "token", password)
    token = environment.get("GITHUB_TOKEN")
    if token and place.host == _GITHUB_REGISTRY:  # a token of GitHub's is for nobody else
        return Credentials(environment.get("GITHUB_ACTOR") or "token", token)
    return None
