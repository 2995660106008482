"""A lease on one device, so that two checks never share it: a lock that the kernel takes back when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The same place for every user and every TMPDIR: the card is shared by all of them.
FOLDER = Path("/tmp")  # noqa: S108
_POLL = 0.1


@contextmanager
def lease(
    uuid: str,
    *,
    wait: float,
    folder: Path = FOLDER,
    note: Callable[[str], None] = lambda _line: None,
    pause: Callable[[float], bool | None] = time.sleep,
) -> Iterator[Path]:
    """Hold the device for the length of the block; yield the lock file.

    Waits up to ``wait`` seconds, telling ``note`` once for whom; then ``InfrastructureError``. So too as soon as
    ``pause``, which waits a moment, says that nobody wants the device any more.
    """
    from pipeline.model.evidence import hashed  # not while the drivers wait to be started

    path = folder / f"cubingate-device-{hashed(uuid)[:16]}.lock"
    descriptor = _open(path)
    try:
        _take(descriptor, path, wait, note, pause)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield path
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open without creating first: in a sticky folder another user's file may be opened, not created over."""
    try:
        try:
            return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            if os.fstat(descriptor).st_uid == os.geteuid():
                os.fchmod(descriptor, 0o666)
            return descriptor
    except OSError as error:
        raise InfrastructureError(f"cannot open the device's lock {path}: {error.strerror}") from error


def _take(
    descriptor: int, path: Path, wait: float, note: Callable[[str], None], pause: Callable[[float], bool | None]
) -> None:
    deadline = time.monotonic() + wait
    told = False
    while not _locked(descriptor):
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
        if time.monotonic() >= deadline:
            raise InfrastructureError(
                f"the device is in use by another check (process {holder})",
                remedy=f"wait for it, or see who holds {path}",
            )
        if not told:
            note(f"waiting up to {wait:g} s for the device, which process {holder} holds")
            told = True
        if pause(_POLL):
            raise InfrastructureError("the wait for the device was stopped")


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
