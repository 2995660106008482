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
_RANGE = rb"(?:[<>!~=]=|[<>]) ?[A-Za-z0-9.*+!]+"
_LOOSE = re.compile(
    rb"[A-Za-z0-9][A-Za-z0-9._-]* ?(?:\[[^\]]*\] ?)?" + _RANGE + rb"(?: ?, ?" + _RANGE + rb")* ?(?:;.*)?"
)
_NAME = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]* ?(?:;.*)?|-.*")
_SUFFIXES = (".txt", ".lock", ".in", ".toml")


class ReadLock(Protocol):
    """Resolves a lock file and reads its wheels."""

    def __call__(self, path: Path, *, deep: bool, kernels: bool) -> Inventory:
        """The inventory of the lock file, its wheels as members."""
        ...


def may_be_lock(path: Path) -> bool:
    """Whether a file is text with a pinned requirement in it, or a lock in TOML."""
    head = _text(path)
    return _PIN.search(head) is not None or _TOML.search(head) is not None


def pins_nothing(path: Path) -> bool:
    """Whether a file is text with requirements in it, of which some have a version and none is of one version."""
    lines = [b" ".join(line.partition(b"#")[0].split()) for line in _text(path).splitlines()]
    asked = [line for line in lines if line]
    loose = [line for line in asked if _LOOSE.fullmatch(line)]
    return bool(loose) and not may_be_lock(path) and all(line in loose or _NAME.fullmatch(line) for line in asked)


def _text(path: Path) -> bytes:
    """The first lines of what may be a text, nothing of other files."""
    if not path.is_file() or path.suffix not in _SUFFIXES:
        return b""
    with open_view(path) as view:
        head = view.head(_HEAD)
    return b"" if b"\0" in head else bytes(head)
