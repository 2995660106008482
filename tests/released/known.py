"""What a row of the evidence is: a target of a released package, and what others say about that package there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Index(StrEnum):
    """Which client fetches a package."""

    PIP = "pip"
    NPM = "npm"


@dataclass(frozen=True, slots=True)
class Known:
    """A public statement: whether the package works there, in a few words, and where it was said (Markdown)."""

    works: bool
    says: str
    source: str


@dataclass(frozen=True, slots=True)
class Row:
    """One target. ``explained`` says why the answer and what is known differ, where they do.

    ``by_design`` are library names that a lane would declare; such a row is audited with them.
    """

    target: str
    known: tuple[Known, ...] = ()
    explained: str = ""
    by_design: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Package:
    """A released file, pinned by digest. ``host`` are libraries that its users have to install beside it."""

    name: str
    version: str
    filename: str
    sha256: str
    rows: tuple[Row, ...]
    host: tuple[str, ...] = ()
    index: Index = Index.PIP


def issue(repository: str, number: int) -> str:
    """A GitHub issue or pull request as Markdown."""
    return f"[{repository}#{number}](https://github.com/{repository}/issues/{number})"


def page(title: str, address: str) -> str:
    """A page as Markdown."""
    return f"[{title}]({address})"


def works(says: str, source: str) -> Known:
    """A statement that it works."""
    return Known(works=True, says=says, source=source)


def fails(says: str, source: str) -> Known:
    """A statement that it does not."""
    return Known(works=False, says=says, source=source)
