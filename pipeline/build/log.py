"""The log of one build: every line on disk at once, and on its way to whoever watches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class BuildLog:
    """A callable that takes lines; use it with ``with``. Replaces the log of an earlier build."""

    def __init__(self, path: Path, progress: Callable[[str], None]) -> None:
        self.path = path
        self._progress = progress
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = path.open("w", encoding="utf-8", errors="replace", buffering=1)
        except OSError as error:
            raise InfrastructureError(f"cannot write {path}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def keep(self, name: str, text: str) -> None:
        """Put a file that explains the log beside it."""
        self.path.with_name(name).write_text(text, encoding="utf-8")

    def __call__(self, line: str) -> None:
        """Write one line and pass it on."""
        self._stream.write(f"{line}\n")
        self._progress(line)
