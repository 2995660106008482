"""Finds the pattern of a declaration that names a library."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.model.paths import MemberPath


def naming(library: MemberPath, patterns: Iterable[str]) -> str:
    """The first of the patterns that names this library by its file name; nothing where none does."""
    name = library.name.rpartition("/")[2]
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), "")
