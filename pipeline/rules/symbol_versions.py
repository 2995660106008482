"""Which symbol versions a host file requires of the C library and of GCC's runtimes: the host floors of auditwheel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.model.versions import DottedVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.formats.facts import ElfFacts

GLIBC, GLIBCXX, CXXABI, GCC = "GLIBC", "GLIBCXX", "CXXABI", "GCC"
_VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI|GCC)_([0-9]+(?:\.[0-9]+)+)", re.ASCII)
# The marker of relative relocations, which only loaders from 2.36 on understand.
_MARKERS = {"GLIBC_ABI_DT_RELR": (GLIBC, DottedVersion("2.36"))}


def highest(elf: ElfFacts, without: frozenset[str] = frozenset()) -> dict[str, DottedVersion]:
    """The highest version of each family that the file requires; ``without`` are libraries that do not count.

    Names such as ``GLIBC_PRIVATE`` or ``CXXABI_FLOAT128`` have no order and are left out.
    """
    found: dict[str, DottedVersion] = {}
    for family, version in _required(elf, without):
        found[family] = max(version, found.get(family, version))
    return found


def _required(elf: ElfFacts, without: frozenset[str]) -> Iterator[tuple[str, DottedVersion]]:
    for library, names in elf.version_needs.items():
        for name in names if library not in without else ():
            marker = _MARKERS.get(name)
            parsed = _VERSION.fullmatch(name)
            if marker is not None:
                yield marker
            elif parsed is not None:
                yield parsed[1], DottedVersion(parsed[2])


def highest_of_all(elves: Iterable[ElfFacts]) -> dict[str, DottedVersion]:
    """The highest version of each family that any of the files requires."""
    found: dict[str, DottedVersion] = {}
    for elf in elves:
        for family, version in highest(elf).items():
            found[family] = max(version, found.get(family, version))
    return found
