"""A lock file as an artifact: each pin resolved to the wheel that would be installed, which is streamed and read."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from pipeline.binary import PIECE, open_view
from pipeline.build.registry import IndexFile, held, linked_files, project_files, streamed
from pipeline.digest import file_sha256
from pipeline.environments.lock import read_lock
from pipeline.environments.pins import Candidate
from pipeline.environments.wheels import Installer, same_version
from pipeline.errors import CorruptInput, UsageError
from pipeline.formats.facts import LOCK, Opaque
from pipeline.formats.stream import Stream
from pipeline.inventory.take import inventory_of, new_ledger
from pipeline.inventory.walk import Walk
from pipeline.model.paths import MemberPath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipeline.build.settings import Network
    from pipeline.environments.pins import LockFile, Pin
    from pipeline.formats.facts import Inventory
    from pipeline.inventory.ledger import Ledger

_ASKING, _READING = 8, 2
_TOLD = 3


@dataclass(frozen=True, slots=True)
class LockSettings:
    """For which Python and machine a lock is resolved, how the index is reached, and who is told what goes on."""

    installer: Installer
    network: Network
    talk: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Choice:
    """The file that would be installed for a pin, or why there is none that can be read."""

    pin: Pin
    file: Candidate | None = None
    unread: str = ""


def read_locked(path: Path, settings: LockSettings, *, deep: bool = False, kernels: bool = False) -> Inventory:
    """The inventory of a lock file, its wheels as members.

    ``UsageError`` where it is none, ``InfrastructureError`` where the index cannot be reached, ``CorruptInput`` where a
    file is not what was pinned. What has no wheel for this machine is named among the opaque members.
    """
    from concurrent.futures import ThreadPoolExecutor

    lock = read_lock(path)
    pins = [pin for pin in lock.pins if settings.installer.wants(pin.marker, lock.groups)]
    if not pins:
        raise UsageError(f"{path}: nothing in it is for this Python and machine", remedy="see --python and --platform")
    linked = (item for page in lock.pages for item in linked_files(page, settings.network))
    lock = replace(lock, linked=tuple(Candidate(item.filename, item.url, item.sha256) for item in linked))
    with ThreadPoolExecutor(_ASKING) as pool:
        choices = list(pool.map(lambda pin: _choose(pin, lock, settings), pins))
    root = MemberPath((str(path),))
    ledger = new_ledger(deep=deep, kernels=kernels)
    with ThreadPoolExecutor(_READING) as pool:
        for found in pool.map(lambda choice: _read(choice, root, ledger.beside(), settings), choices):
            ledger.absorb(found)
    return inventory_of(ledger, root, (LOCK, path.stat().st_size), file_sha256(path))


def _choose(pin: Pin, lock: LockFile, settings: LockSettings) -> _Choice:
    if pin.unread:
        return _Choice(pin, unread=pin.unread)
    found = pin.candidates or _candidates(pin, lock, settings)
    if not found:
        return _Choice(pin, unread="neither index nor folder has this version")
    allowed = [item for item in found if not pin.hashes or not item.sha256 or item.sha256 in pin.hashes]
    if not allowed:
        raise CorruptInput(
            f"{pin.name} {pin.version}: none of {len(found)} files has a digest that the lock pins",
            remedy="if the change is intended, lock again",
        )
    for version in sorted({_version(item) for item in allowed}, reverse=True):
        same = {item.filename: item for item in reversed(allowed) if _version(item) == version}
        if best := settings.installer.best(same):
            return _Choice(pin, same[best])
    return _Choice(pin, unread=_why(allowed))


def _why(files: list[Candidate]) -> str:
    wheels = [item.filename for item in files if item.filename.endswith(".whl")]
    if not wheels:
        return f"it has only a source archive ({files[0].filename}), which is built where it is installed"
    more = f" and {len(wheels) - _TOLD} more" if len(wheels) > _TOLD else ""
    return f"no wheel is for this Python and machine, of {', '.join(wheels[:_TOLD])}{more}"


def _version(item: Candidate) -> Version:
    """By the file's name; ``0`` where it has none."""
    parts = item.filename.removesuffix(".tar.gz").removesuffix(".zip").split("-")
    try:
        return Version(parts[1] if item.filename.endswith(".whl") and len(parts) > 2 else parts[-1])
    except (InvalidVersion, IndexError):
        return Version("0")


def _candidates(pin: Pin, lock: LockFile, settings: LockSettings) -> tuple[Candidate, ...]:
    """Files of that version, from folders and from the indexes that the lock names, or else this machine's."""
    local = [Candidate(path.name, "", "", path) for folder in lock.folders for path in sorted(folder.glob("*.whl"))]
    files = [item for item in local if _is_of(item, pin)]
    files += lock.linked
    if not lock.no_index:
        indexes = (*(lock.index or ("",)), *lock.extra)
        asked = project_files(pin.name, indexes, settings.network)
        files += [Candidate(item.filename, item.url, item.sha256) for item in asked]
    return tuple(item for item in files if _is_of(item, pin))


def _is_of(item: Candidate, pin: Pin) -> bool:
    name, _, rest = item.filename.partition("-")
    if item.filename.endswith(".whl"):
        return same_version(pin.version, rest.partition("-")[0]) and _plain(name) == _plain(pin.name)
    return item.filename.endswith((".tar.gz", ".zip")) and same_version(pin.version, str(_version(item)))


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _read(choice: _Choice, root: MemberPath, ledger: Ledger, settings: LockSettings) -> Ledger:
    pin, file = choice.pin, choice.file
    if file is None:
        place = root.child(f"{pin.name}=={pin.version}")
        ledger.opaque.append(Opaque(place, choice.unread, 0))
        return ledger
    settings.talk(f"reading {file.filename}")
    with _opened(file, pin, settings) as chunks:
        stream, place = Stream(chunks), root.child(file.filename)
        ledger.members += 1
        Walk(ledger).visit(stream, place)
        ledger.file(place, stream.drain())
    return ledger


@contextmanager
def _opened(file: Candidate, pin: Pin, settings: LockSettings) -> Iterator[Iterator[bytes]]:
    """The file's bytes, held against what the lock pins, or at least against what the index says."""
    pinned = pin.hashes or frozenset((file.sha256,) if file.sha256 else ())
    if file.place is None:
        with streamed(IndexFile(file.filename, file.url, file.sha256), pinned, settings.network) as chunks:
            yield chunks
        return
    if not file.place.is_file():
        raise UsageError(f"there is no file {file.place}, which the lock names")
    with open_view(file.place) as view:
        pieces = (view.read(at, min(PIECE, view.size - at)) for at in range(0, view.size, PIECE))
        yield held(pieces, file.filename, pinned)
