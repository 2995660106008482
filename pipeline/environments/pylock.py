"""pylock.toml (PEP 751): pins whose files are named in the lock itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.environments.metadata import normalized
from pipeline.environments.pins import Candidate, LockFile, Pin, file_name, local_place, unheld
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGES = re.compile(r"^\[\[packages?\]\]", re.MULTILINE)
_FORM = "a lock in pip's format is read, and pylock.toml; of uv's: `uv export --format requirements-txt`"


def is_pylock(text: str) -> bool:
    """Whether it is a lock in TOML, this one or another tool's."""
    return _PACKAGES.search(text) is not None


def read_pylock(path: Path, text: str) -> LockFile:
    """Every package; ``UsageError`` where the file is of another kind."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {error}", remedy=_FORM) from None
    packages = content.get("packages")
    if "lock-version" not in content or not isinstance(packages, list):
        raise UsageError(f"{path} is not a pylock.toml", remedy=_FORM)
    version = str(content["lock-version"])
    if version.partition(".")[0] != "1":
        raise UsageError(f"{path}: lock-version {version[:40]!r} is not 1.x", remedy=_FORM)
    pins = tuple(_pin(path, row) for row in packages if isinstance(row, dict))
    return LockFile(pins, groups=frozenset(map(str, _listed(content.get("default-groups")))))


def _pin(path: Path, row: dict[str, Any]) -> Pin:
    name, version, marker = (
        normalized(str(row.get("name", ""))),
        str(row.get("version", "")),
        str(row.get("marker", "")),
    )
    rows = [item for item in _listed(row.get("wheels")) if isinstance(item, dict)]
    if isinstance(row.get("archive"), dict):
        rows.append(row["archive"])
    candidates = tuple(_candidate(path, item) for item in rows if item.get("url") or item.get("path"))
    kinds = (kind for item in rows if isinstance(item.get("hashes"), dict) for kind in item["hashes"])
    unread = unheld(kinds) if candidates else next(_elsewhere(row), "")
    return Pin(name, version, frozenset(item.sha256 for item in candidates if item.sha256), marker, candidates, unread)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _candidate(path: Path, item: dict[str, Any]) -> Candidate:
    url, place = str(item.get("url", "")), str(item.get("path", ""))
    here = Path(place) if place else local_place(url)
    hashes = item.get("hashes")
    digest = str(hashes.get("sha256", "")) if isinstance(hashes, dict) else ""
    filename = str(item.get("name", "")) or file_name(url or place)
    return Candidate(filename, "" if here else url, digest.lower(), path.parent / here if here else None)


def _elsewhere(row: dict[str, Any]) -> Iterator[str]:
    """Where a package comes from that has no wheel."""
    for kind, what in (("directory", "a folder"), ("vcs", "a source repository"), ("sdist", "a source archive")):
        if kind in row:
            yield f"it has only {what}"
    yield "it has no file"
