"""What a lock file asks for, as values."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable

_QUERY = re.compile(r"[?#]")
_FILE = re.compile(r"file:(?://(?:localhost)?(?=/))?(.+)", re.IGNORECASE | re.DOTALL)


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
    """Pins, and where they are to be found: ``folders`` hold wheels, ``no_index`` forbids to ask an index.

    ``pages`` are URLs of pages with links to files, ``linked`` those files once the pages were asked, ``groups`` the
    dependency groups that are installed unasked.
    """

    pins: tuple[Pin, ...]
    index: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    no_index: bool = False
    pages: tuple[str, ...] = ()
    linked: tuple[Candidate, ...] = ()
    groups: frozenset[str] = frozenset()


def file_name(url: str) -> str:
    """The last part of a URL's path."""
    return posixpath.basename(unquote(_QUERY.split(url, maxsplit=1)[0]).rstrip("/"))


def local_place(url: str) -> Path | None:
    """Where a ``file:`` URL points to on this machine; ``None`` for what has to be fetched."""
    found = _FILE.fullmatch(_QUERY.split(url, maxsplit=1)[0])
    return Path(unquote(found[1])) if found else None


def unheld(kinds: Iterable[str]) -> str:
    """Why a file with digests of these kinds cannot be held against any of them; empty where it can, or has none."""
    named = sorted({kind.lower() for kind in kinds})
    return f"it is pinned by {', '.join(named)} and not by sha256" if named and "sha256" not in named else ""
