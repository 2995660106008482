"""Tells by its first lines whether a file may be a lock file; whether it is one is seen when it is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from pipeline.binary import open_view

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.formats.facts import Inventory

_HEAD = 64 << 10
_PIN = re.compile(
    rb"^(?:[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]\n]*\])?[ \t]*(?:===?|@)[ \t]*[A-Za-z0-9./:]|[./][^\n]*\.whl\b)",
    re.MULTILINE,
)
_TOML = re.compile(rb"^\[\[packages?\]\]", re.MULTILINE)
_SUFFIXES = (".txt", ".lock", ".in", ".toml")


class ReadLock(Protocol):
    """Resolves a lock file and reads its wheels."""

    def __call__(self, path: Path, *, deep: bool, kernels: bool) -> Inventory:
        """The inventory of the lock file, its wheels as members."""
        ...


def may_be_lock(path: Path) -> bool:
    """Whether a file is text with a pinned requirement in it, or a lock in TOML."""
    if not path.is_file() or path.suffix not in _SUFFIXES:
        return False
    with open_view(path) as view:
        head = view.head(_HEAD)
    return b"\0" not in head and (_PIN.search(head) is not None or _TOML.search(head) is not None)
