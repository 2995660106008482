"""What a lock file asks for, as values."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that the lock itself names: by its URL, or where it lies on this machine."""

    filename: str
    url: str
    sha256: str
    place: Path | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """One distribution in one version, if ``marker`` holds. ``hashes`` are the SHA-256 it may have, none: any.

    ``candidates`` are its files where the lock names them; else they are those of the index. ``unread`` says why it
    cannot be read at all.
    """

    name: str
    version: str
    hashes: frozenset[str] = frozenset()
    marker: str = ""
    candidates: tuple[Candidate, ...] = ()
    unread: str = ""


@dataclass(frozen=True, slots=True)
class LockFile:
    """Pins, and where they are to be found: ``folders`` hold wheels, ``no_index`` forbids to ask an index."""

    pins: tuple[Pin, ...]
    index: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    no_index: bool = False


def file_name(url: str) -> str:
    """The last part of a URL's path."""
    return posixpath.basename(unquote(urlparse(url).path).rstrip("/"))
