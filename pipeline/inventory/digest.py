"""SHA-256 of an artifact: of a file its bytes, of a directory its sorted (path, mode, digest) lines."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from pipeline.digest import file_sha256
from pipeline.inventory.tree import TreeFile, TreeLink, list_tree

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.inventory.tree import TreeEntry


def digest_of(path: Path) -> str:
    """The digest that evidence is bound to, lower-case hex; ``InfrastructureError`` when a file cannot be read.

    A directory's lines are ``PATH NUL MODE NUL DIGEST LF``: the path relative and in its raw bytes, the mode in octal
    with its type bits, the digest that of the content, or of the target's name for a symbolic link. Special
    files have the digest of nothing.
    """
    if not path.is_dir():
        return file_sha256(path)
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    entries = sorted(list_tree(path), key=lambda entry: entry.name)
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        lines = pool.map(lambda entry: _line(path, entry), entries)
        return hashlib.sha256(b"".join(lines)).hexdigest()


def _line(root: Path, entry: TreeEntry) -> bytes:
    if isinstance(entry, TreeFile):
        digest = file_sha256(root / entry.name)
    elif isinstance(entry, TreeLink):
        digest = hashlib.sha256(os.fsencode(entry.target)).hexdigest()
    else:
        digest = hashlib.sha256().hexdigest()
    return b"%s\0%o\0%s\n" % (os.fsencode(entry.name), entry.mode, digest.encode())
