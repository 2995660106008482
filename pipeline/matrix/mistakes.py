"""What is wrong in a matrix file: where, what, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.model.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.model.lane import Position


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that the reader has to change; printed ``matrix.yaml:3:5: message; instead``."""

    position: Position
    message: str
    instead: str

    def __str__(self) -> str:
        return f"{self.position}: {self.message}; {self.instead}"


class MatrixMistakes(UsageError):
    """A matrix file cannot be used; carries every mistake in it, in the order of the file."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(sorted(set(mistakes), key=_place))
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


def _place(mistake: Mistake) -> tuple[int, int, str]:
    return mistake.position.line, mistake.position.column, mistake.message


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that ``word`` was probably meant to be, or all of them: ``write 'toolkit'``."""
    words = sorted(known)
    near = get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    return f"write {near[0]!r}" if near else f"known: {listed(words)}"


def listed(words: Sequence[str], limit: int = 30) -> str:
    """The words separated by commas, cut where a reader would stop."""
    rest = len(words) - limit
    return ", ".join(printable(word) for word in words[:limit]) + (f" and {rest} more" if rest > 0 else "")
