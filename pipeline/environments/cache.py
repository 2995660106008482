"""Facts and digests of files that were read before, on disk: one file for each directory that was looked at.

A file is the same while device, inode, size, both times and its place below the root are: what replaces it has another
inode or another time, and the name of its folder says what it means (``x.dist-info/METADATA``). One that was written
less than two seconds before it was read is not kept, for a second write may leave the time as it is. What is kept are
facts, never verdicts: policy and targets may change. Whatever is not exactly what this version of the program wrote is
as good as nothing: a damaged cache costs time, never an answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.environments.codec import can_be_kept, read_facts, write_facts
from pipeline.inventory.memory import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.inventory.ledger import Ledger
    from pipeline.inventory.memory import CachePlace
    from pipeline.inventory.tree import Stamp
    from pipeline.model.paths import MemberPath

Json = Any
_RACY = 2_000_000_000
_UNUSED = 30 * 86_400 * 1_000_000_000
_READERS = ("binary.py", "formats", "inventory", "model", "environments")
_NOT_FACTS = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)
_HEAD = 64


class FactsCache:
    """The memory of one directory."""

    def __init__(self, where: CachePlace, root: Path) -> None:
        self._now = where.now
        self._folder = where.folder
        status = root.stat()
        key = f"{status.st_dev}:{status.st_ino}:{readers_digest()}"
        self._place = where.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
        self._rows: dict[str, Json] = _loaded(self._place)
        self._seen: dict[str, Json] = {}
        self._fresh = False

    def recall(self, stamp: Stamp, place: MemberPath, empty: Callable[[], Ledger]) -> Found | None:
        """The facts of a file with exactly this stamp; ``None`` where there are none, or none that make sense."""
        name = _name(stamp, place)
        row = self._rows.get(name)
        if not isinstance(row, list) or len(row) != 6 or row[:3] != [stamp.size, stamp.modified, stamp.changed]:
            return None
        digest, what, facts = row[3:]
        if not isinstance(digest, str) or len(digest) != 64 or not isinstance(what, str):
            return None
        ledger = None if what else empty()
        if ledger is not None:
            try:
                read_facts(facts, place, ledger)
            except _NOT_FACTS:
                return None
        self._seen[name] = row
        return Found(digest, what, ledger)

    def keep(self, stamp: Stamp, place: MemberPath, found: Found) -> None:
        """Remember a file, unless it may be written once more without its time telling."""
        racy = max(stamp.modified, stamp.changed) > self._now - _RACY
        if racy or found.ledger is None or not can_be_kept(found.ledger):
            return
        what = _only_opaque(found.ledger, place)
        facts = None if what else write_facts(found.ledger, place)
        row = [stamp.size, stamp.modified, stamp.changed, found.sha256, what, facts]
        self._seen[_name(stamp, place)] = row
        self._fresh = True

    def close(self) -> None:
        """Write down what was seen, and forget the directories that nobody asks about any more.

        A cache that cannot be written is none: the answer does not depend on it.
        """
        try:
            if not self._fresh and len(self._seen) == len(self._rows):
                os.utime(self._place)
                return
            body = json.dumps(self._seen, separators=(",", ":")).encode()
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(prefix=".part-", dir=self._folder)
            with os.fdopen(handle, "wb") as stream:
                stream.write(hashlib.sha256(body).hexdigest().encode() + body)
            Path(name).replace(self._place)
            for path in _unused(self._folder, self._now):
                if path != self._place:
                    path.unlink(missing_ok=True)
        except OSError:
            return


def _name(stamp: Stamp, place: MemberPath) -> str:
    """Of a row: a file has one for each of its hard links, and none that was made under another name."""
    return f"{stamp.device}:{stamp.inode}:{place.name}"


def _loaded(place: Path) -> dict[str, Json]:
    try:
        content = place.read_bytes()
        head, body = content[:_HEAD], content[_HEAD:]
        if hashlib.sha256(body).hexdigest().encode() != head:
            return {}
        rows = json.loads(body)
    except (OSError, *_NOT_FACTS):
        return {}
    return rows if isinstance(rows, dict) else {}


def _only_opaque(ledger: Ledger, place: MemberPath) -> str:
    """What a file without any facts is; nothing where it has some."""
    others = (ledger.elves, ledger.fatbins, ledger.bare, ledger.loader_confs, ledger.metadata, ledger.links)
    alone = not any(others) and len(ledger.opaque) == 1 and ledger.members == 1
    return ledger.opaque[0].what if alone and ledger.opaque[0].path == place else ""


def _unused(folder: Path, now: int) -> Iterator[Path]:
    for path in folder.glob("*.json"):
        if now - path.stat().st_mtime_ns > _UNUSED:
            yield path


def readers_digest() -> str:
    """By what the readers are known that made the facts: another version of them may see more."""
    package = Path(__file__).resolve().parent.parent
    found = hashlib.sha256()
    for name in _READERS:
        place = package / name
        for path in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            found.update(path.read_bytes())
    return found.hexdigest()
