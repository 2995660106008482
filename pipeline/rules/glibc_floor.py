"""A host file needs a newer C library than the declared host has.

What: the highest GLIBC_ symbol version that a program or library requires is above the host's glibc.

Why: binaries built on a new distribution bind to its newest symbols. Users see "version `GLIBC_2.38' not found" at
process start.

Remedy: build in an image as old as the oldest promised host (manylinux_2_28, Debian 11, Ubuntu 20.04), or raise the
host floor.

Source: the version needs of the ELF file; glibc manual, symbol versioning; llama.cpp issue 9794.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.versions import GlibcVersion
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts
    from pipeline.rules.subject import Subject

RULE = "glibc-floor"
_PREFIX = "GLIBC_"
# The marker of relative relocations, which only loaders from 2.36 on understand.
_MARKERS = {"GLIBC_ABI_DT_RELR": "2.36"}


def check(subject: Subject) -> Examination:
    """Every file that needs a newer glibc than the host's."""
    if subject.host is None or subject.host.glibc is None:
        return Examination(0, (), "no host glibc is declared")
    needs = [(elf, version) for elf in subject.elves for version in [needed_glibc(elf)] if version is not None]
    if not needs:
        return Examination(0, (), "no member needs a glibc version")
    floor = subject.host.glibc
    claims = tuple(
        Claim(
            rule=RULE,
            effect=Effect.FAIL,
            path=str(elf.path),
            declared=f"glibc {floor}",
            observed=f"needs glibc {version}",
            remedy=f"build in an image with glibc {floor} or older, or raise the host floor to {version}",
            targets=subject.labels,
            group=str(version),
        )
        for elf, version in needs
        if version > floor
    )
    return Examination(len(needs), claims)


def needed_glibc(elf: ElfFacts) -> GlibcVersion | None:
    """The highest glibc version the file requires; ``None`` when it requires none."""
    return max(_versions(elf), default=None)


def _versions(elf: ElfFacts) -> Iterator[GlibcVersion]:
    for names in elf.version_needs.values():
        for name in names:
            number = _MARKERS.get(name, name.removeprefix(_PREFIX))
            if name.startswith(_PREFIX) and number.replace(".", "").isdigit() and "." in number:
                yield GlibcVersion(number)
