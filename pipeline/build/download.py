"""Bring bytes from elsewhere into the cache, where each file is named by its SHA-256 and checked when it is used."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import requests
from pypi_simple import PYPI_SIMPLE_ENDPOINT, NoSuchProjectError, PyPISimple
from pypi_simple.errors import UnparsableFilenameError, UnsupportedContentTypeError, UnsupportedRepoVersionError

from pipeline.build.digest import check_digest
from pipeline.digest import file_sha256
from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pypi_simple import DistributionPackage

    from pipeline.build.settings import Network

_CHUNK = 1 << 20


def cached(cache: Path, sha256: str) -> Path | None:
    """The file with that digest, read back and compared; ``None`` when absent. A damaged one is removed."""
    path = _place(cache, sha256)
    if not path.is_file():
        return None
    if file_sha256(path) != sha256:
        path.unlink(missing_ok=True)
        return None
    return path


def download(url: str, sha256: str, cache: Path, network: Network, progress: Callable[[str], None]) -> Path:
    """Fetch ``url`` into the cache; ``CorruptInput`` when it is not what was pinned, else ``InfrastructureError``."""
    found = cached(cache, sha256)
    if found is not None:
        return found
    progress(f"downloading {without_credentials(url)}")
    with session(network) as web, web_errors(url), web.get(url, stream=True, timeout=network.timeout) as response:
        response.raise_for_status()
        return store(response.iter_content(_CHUNK), sha256, cache, what=without_credentials(url))


def store(pieces: Iterator[bytes], sha256: str, cache: Path, *, what: str) -> Path:
    """Write ``pieces`` into the cache under ``sha256``, or nothing at all (``CorruptInput``) if it is another's."""
    place = _place(cache, sha256)
    place.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with _new_file(place) as stream:
        for piece in pieces:
            digest.update(piece)
            stream.write(piece)
        check_digest(what, expected=sha256, observed=digest.hexdigest())
    return place


def registry_file(
    package: str, version: str, sha256: str, filename: str | None, network: Network
) -> DistributionPackage:
    """The registry's entry for a source archive (no ``filename``) or a wheel, found by name and version.

    ``CorruptInput`` when the registry itself declares another digest, ``InfrastructureError`` without such a file.
    """
    endpoint = network.index_url or PYPI_SIMPLE_ENDPOINT
    with session(network) as web, PyPISimple(endpoint, session=web) as registry, web_errors(endpoint):
        files = registry.get_project_page(package, timeout=network.timeout).packages
    wanted = [
        file
        for file in files
        if (file.filename == filename if filename else file.package_type == "sdist" and file.version == version)
    ]
    if not wanted:
        kind = filename or f"source archive of {package} {version}"
        raise InfrastructureError(f"the package registry has no {kind}", remedy="check name and version in matrix.yaml")
    declared = wanted[0].digests.get("sha256")
    if declared is not None:
        check_digest(f"{wanted[0].filename} on the registry", expected=sha256, observed=declared)
    return wanted[0]


@contextlib.contextmanager
def session(network: Network) -> Iterator[requests.Session]:
    """A connection that trusts what ``network`` says."""
    with _Session(network) as web:
        web.proxies.update({name.lower().removesuffix("_proxy"): url for name, url in network.proxies.items()})
        yield web


class _Session(requests.Session):
    """Certificates that were asked for go before those of the environment, which requests has the other way round."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self._ca_bundle = network.ca_bundle

    def merge_environment_settings(self, *arguments: Any, **named: Any) -> Any:
        settings = super().merge_environment_settings(*arguments, **named)
        if self._ca_bundle is not None:
            settings["verify"] = str(self._ca_bundle)
        return settings


@contextlib.contextmanager
def web_errors(url: str) -> Iterator[None]:
    """What goes wrong on the way to ``url`` as ``InfrastructureError``, in words and without its credentials."""
    place = without_credentials(url)
    try:
        yield
    except NoSuchProjectError as error:
        raise InfrastructureError(f"the package registry has no project {error.project}") from error
    except (UnparsableFilenameError, UnsupportedContentTypeError, UnsupportedRepoVersionError) as error:
        raise InfrastructureError(f"{place} does not answer like a package registry: {error}") from error
    except requests.HTTPError as error:
        raise InfrastructureError(f"{place} answers status {error.response.status_code}") from error
    except requests.RequestException as error:
        remedy = "behind a TLS proxy, pass its certificates with --ca-bundle" if _is_tls(error) else None
        raise InfrastructureError(f"cannot reach {place}: {_root(error)}", remedy=remedy) from error


def _is_tls(error: requests.RequestException) -> bool:
    return isinstance(error, requests.exceptions.SSLError)


def _root(error: BaseException) -> str:
    while error.__context__ is not None:
        error = error.__context__
    return " ".join(str(error).split())


def without_credentials(url: str) -> str:
    """``url`` as it may be printed."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    path = path.partition("?")[0]
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def _place(cache: Path, sha256: str) -> Path:
    return cache / "sha256" / sha256


@contextlib.contextmanager
def _new_file(place: Path) -> Iterator[IO[bytes]]:
    """A file beside ``place`` that becomes it when all went well, and is gone otherwise."""
    try:
        handle, name = tempfile.mkstemp(prefix=".part-", dir=place.parent)
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
            part.chmod(0o644)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, requests.RequestException):
            raise
        raise InfrastructureError(f"cannot write {place}: {error.strerror or error}") from error
