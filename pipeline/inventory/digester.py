"""SHA-256 of bytes while others look at them: hashing leaves the interpreter free, so it goes on in other threads."""

from __future__ import annotations

import hashlib
from collections import deque
from typing import TYPE_CHECKING, Protocol

from pipeline.binary import PIECE
from pipeline.formats.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future, ThreadPoolExecutor

    from pipeline.binary import View


class Digest(Protocol):
    """A digest that is being taken."""

    def result(self) -> str:
        """Lower-case hex, once all bytes have been seen."""
        ...


class Digester:
    """Takes digests in two threads, which end with ``close``."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """End the threads; digests that nobody has waited for are given up."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def of(self, view: View) -> Digest:
        """The digest of a view, read a second time beside whoever else reads it."""
        return self._threads().submit(_sha256, view)

    def passing(self, stream: Stream) -> tuple[Stream, Digest]:
        """The same stream, and the digest of what has passed once it is drained."""
        passing = _Passing(self._threads())
        return Stream(passing.through(stream), stream.size), passing

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # slow to import, and few artifacts are images

            self._pool = ThreadPoolExecutor(2)
        return self._pool


def _sha256(view: View) -> str:
    found = hashlib.sha256()
    for at in range(0, view.size, PIECE):
        found.update(view.read(at, min(PIECE, view.size - at)))
    return found.hexdigest()


class _Passing:
    """One digest of a stream; the thread may lag behind by a few chunks."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._digest = hashlib.sha256()
        self._pending: deque[Future[None]] = deque()

    def through(self, stream: Stream) -> Iterator[bytes]:
        for chunk in stream.rest():
            # One after the other: two threads would take the chunks in any order.
            if self._pending:
                self._pending.popleft().result()
            self._pending.append(self._pool.submit(self._digest.update, chunk))
            yield chunk

    def result(self) -> str:
        for last in self._pending:
            last.result()
        return self._digest.hexdigest()
