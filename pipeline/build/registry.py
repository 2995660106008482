"""Files of a package index: what a project has, and one of them as a stream whose digest is held when it ends."""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pypi_simple import PYPI_SIMPLE_ENDPOINT, NoSuchProjectError, PyPISimple, RepositoryPage

from pipeline.build.download import session, web_errors, without_credentials
from pipeline.errors import CorruptInput, InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.build.settings import Network

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file of an index; ``sha256`` is empty where the index does not say it."""

    filename: str
    url: str
    sha256: str


def project_files(name: str, indexes: Sequence[str], network: Network) -> tuple[IndexFile, ...]:
    """Everything that the indexes have of a project, the first index first; an empty one is this machine's own.

    ``InfrastructureError`` when an index cannot be reached, or none knows the project.
    """
    found: list[IndexFile] = []
    known = False
    for named in indexes:
        index = named or network.index_url or PYPI_SIMPLE_ENDPOINT
        with session(network) as web, PyPISimple(index, session=web) as registry, web_errors(index):
            try:
                page = registry.get_project_page(name, timeout=network.timeout)
            except NoSuchProjectError:
                continue
            known = True
            found += [IndexFile(row.filename, row.url, row.digests.get("sha256", "")) for row in page.packages]
    if not known:
        raise InfrastructureError(f"the package index has no project {name}", remedy="name its index in the lock file")
    return tuple(found)


def linked_files(url: str, network: Network) -> tuple[IndexFile, ...]:
    """Everything that a page links to, as pip reads ``--find-links``; ``InfrastructureError``."""
    with session(network) as web, web_errors(url):
        answer = web.get(url, timeout=network.timeout)
        answer.raise_for_status()
        links = RepositoryPage.from_html(answer.content, base_url=answer.url).links
    places = (link.url.partition("#") for link in links)
    return tuple(
        IndexFile(posixpath.basename(unquote(place)), place, fragment.removeprefix("sha256="))
        for place, _, fragment in places
        if not fragment or fragment.startswith("sha256=")
    )


@contextlib.contextmanager
def streamed(file: IndexFile, pinned: frozenset[str], network: Network) -> Iterator[Iterator[bytes]]:
    """The bytes of a file in order. When they have ended: ``CorruptInput`` unless their digest is a pinned one."""
    with session(network) as web, web_errors(file.url):
        plainly = {"Accept-Encoding": "identity"}
        with web.get(file.url, stream=True, timeout=network.timeout, headers=plainly) as response:
            response.raise_for_status()
            yield held(_pieces(response.iter_content(_CHUNK), file.url), file.filename, pinned)


def _pieces(chunks: Iterator[bytes], url: str) -> Iterator[bytes]:
    """Failures while reading happen in the reader's frame: they are named here as well."""
    with web_errors(url):
        yield from chunks


def held(chunks: Iterator[bytes], name: str, pinned: frozenset[str]) -> Iterator[bytes]:
    """The same chunks; ``CorruptInput`` at their end unless they are what was pinned. Nothing pinned holds nothing."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    observed = digest.hexdigest()
    if pinned and observed not in pinned:
        raise CorruptInput(
            f"{without_credentials(name)}: pinned sha256 {', '.join(sorted(pinned))[:400]}, observed {observed}",
            remedy="if the change is intended, lock again",
        )
