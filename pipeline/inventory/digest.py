"""SHA-256 of an artifact: of a file its bytes, of a directory its sorted (path, mode, digest) lines."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Self

from pipeline.digest import file_sha256
from pipeline.inventory.tree import TreeFile, TreeLink, list_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pipeline.inventory.tree import TreeEntry

_ALONE = 1 << 20
_TOGETHER = 256


def digest_of(path: Path) -> str:
    """The digest that evidence is bound to, lower-case hex; ``InfrastructureError`` when a file cannot be read.

    A directory's lines are ``PATH NUL MODE NUL DIGEST LF``: the path relative and in its raw bytes, the mode in octal
    with its type bits, the digest that of the content, or of the target's name for a symbolic link. Special
    files have the digest of nothing.
    """
    if not path.is_dir():
        return file_sha256(path)
    entries = sorted(list_tree(path), key=lambda entry: entry.name)
    with FileDigests(path, [entry for entry in entries if isinstance(entry, TreeFile)]) as digests:
        return tree_digest(entries, digests.all())


def tree_digest(entries: Iterable[TreeEntry], digests: Mapping[str, str]) -> str:
    """The digest of a directory out of those of its files, by their names."""
    return hashlib.sha256(b"".join(_line(entry, digests) for entry in entries)).hexdigest()


def _line(entry: TreeEntry, digests: Mapping[str, str]) -> bytes:
    if isinstance(entry, TreeFile):
        digest = digests[entry.name]
    elif isinstance(entry, TreeLink):
        digest = hashlib.sha256(os.fsencode(entry.target)).hexdigest()
    else:
        digest = hashlib.sha256().hexdigest()
    return b"%s\0%o\0%s\n" % (os.fsencode(entry.name), entry.mode, digest.encode())


class FileDigests:
    """Takes the digests of a directory's files in threads: hashing leaves the interpreter free for others."""

    def __init__(self, root: Path, files: Sequence[TreeFile]) -> None:
        self._root = root
        self._batches = list(_batches(files))

    def __enter__(self) -> Self:
        """Begin."""
        from concurrent.futures import ThreadPoolExecutor  # slow to import

        self._pool = ThreadPoolExecutor(min(8, os.cpu_count() or 1))
        self._pending = [self._pool.submit(self._hash, batch) for batch in self._batches]
        return self

    def __exit__(self, *_: object) -> None:
        """Give up what nobody has waited for."""
        self._pool.shutdown(cancel_futures=True)

    def all(self) -> dict[str, str]:
        """Every file's digest by its name, once all are done; ``InfrastructureError`` when one cannot be read."""
        return {name: digest for batch in self._pending for name, digest in batch.result()}

    def _hash(self, files: list[TreeFile]) -> list[tuple[str, str]]:
        return [(file.name, file_sha256(self._root / file.name)) for file in files]


def _batches(files: Sequence[TreeFile]) -> Iterator[list[TreeFile]]:
    """The largest first, so that no thread is left alone with one of them; small ones together."""
    batch: list[TreeFile] = []
    for file in sorted(files, key=lambda file: -file.size):
        batch.append(file)
        if file.size > _ALONE or len(batch) == _TOGETHER:
            yield batch
            batch = []
    if batch:
        yield batch
