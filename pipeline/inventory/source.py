"""An image that comes as a stream, from a container engine: this room does not know which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


class Source(Protocol):
    """Something with a name (``docker://IMAGE``) whose bytes come in order; it can be sent to another process."""

    def __str__(self) -> str:
        """The name that reports give it."""
        ...

    def opened(self) -> AbstractContextManager[Iterator[bytes]]:
        """Its bytes, a saved image archive; ``UsageError`` when there is no such image."""
        ...
