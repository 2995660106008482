"""Which member of the old artifact is which of the new: paths without what changes from release to release."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pipeline.model.paths import MemberPath

_LAYER = re.compile(r"sha256:[0-9a-f]{64}")
_HASH = re.compile(r"-[0-9a-f]{8}(?=\.)")
_SONAME_VERSION = re.compile(r"(?<=\.so)(?:\.[0-9]+)+$")
_VERSION = re.compile(r"(?<![A-Za-z0-9])[vb]?[0-9]+(?:\.[0-9]+)*(?:\.(?:post|dev)[0-9]+)?(?![A-Za-z0-9])")


@dataclass(frozen=True, slots=True)
class Pairs:
    """Members of both artifacts that are the same one, and those of only one of them."""

    same: tuple[tuple[MemberPath, MemberPath], ...]
    gone: tuple[MemberPath, ...]
    added: tuple[MemberPath, ...]


def pair(old: Iterable[MemberPath], new: Iterable[MemberPath]) -> Pairs:
    """Match members: by their path, by it without versions, then by a file name that is there once."""
    left, right = list(dict.fromkeys(old)), list(dict.fromkeys(new))
    same: dict[MemberPath, MemberPath] = {}
    for key in (inside, _top_stripped, _stripped, _file_name):
        theirs = _unique(right, key, set(same.values()))
        same |= {mine: theirs[name] for name, mine in _unique(left, key, set(same)).items() if name in theirs}
    taken = set(same.values())
    return Pairs(
        same=tuple((member, same[member]) for member in left if member in same),
        gone=tuple(member for member in left if member not in same),
        added=tuple(member for member in right if member not in taken),
    )


def inside(member: MemberPath) -> str:
    """The path inside the artifact, whichever layer of an image brings it; empty for the artifact itself."""
    return "!/".join(_places(member))


def _places(member: MemberPath) -> list[str]:
    return [part for part in member.parts[1:] if not _LAYER.fullmatch(part)]


def _top_stripped(member: MemberPath) -> str:
    """The path with the versions of its top folder alone left out: ``cuda_v12`` and ``cuda_v13`` differ."""
    top, slash, rest = inside(member).partition("/")
    return _VERSION.sub("*", top) + slash + rest


def _stripped(member: MemberPath) -> str:
    """The path without versions and the hashes that auditwheel adds."""
    return "!/".join(_VERSION.sub("*", _bare(part)) for part in _places(member))


def _file_name(member: MemberPath) -> str:
    return _bare(member.name.rpartition("/")[2]) if len(member.parts) > 1 else ""


def _bare(name: str) -> str:
    return _SONAME_VERSION.sub("", _HASH.sub("", name))


def _unique(
    members: Iterable[MemberPath], key: Callable[[MemberPath], str], taken: set[MemberPath]
) -> dict[str, MemberPath]:
    """Members by key, without those whose key is another's as well."""
    named = [(key(member), member) for member in members if member not in taken]
    counts = Counter(name for name, _ in named)
    return {name: member for name, member in named if counts[name] == 1}
