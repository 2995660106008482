"""A host file needs a newer C library than the declared host has.

What: the highest GLIBC_ symbol version that a program or library requires is above the host's glibc. (An image or
bundle with a C library of its own is measured against that one; plugins for other stacks get a warning.)

Why: binaries built on a new distribution bind to its newest symbols. Users see "version `GLIBC_2.38' not found" at
process start.

Remedy: build in an image as old as the oldest promised host (manylinux_2_28, Debian 11, Ubuntu 20.04), or raise the
host floor.

Source: the version needs of the ELF file, as auditwheel counts them; glibc manual, symbol versioning; llama.cpp issue
9794.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.versions import GlibcVersion
from pipeline.rules.optional import stack_of
from pipeline.rules.subject import Claim, Effect, Examination
from pipeline.rules.symbol_versions import GLIBC, highest

if TYPE_CHECKING:
    from pipeline.formats.facts import ElfFacts
    from pipeline.rules.subject import Subject

RULE = "glibc-floor"
_LIBRARY = "libc.so.6"


def check(subject: Subject) -> Examination:
    """Every file that needs a newer glibc than the host's."""
    if subject.host is None or subject.host.glibc is None:
        return Examination(0, (), "no host glibc is declared")
    floor, origin = subject.host.glibc, ""
    own = _own(subject)
    if own is not None:
        floor, origin = own, ", the artifact's own"
    needs = [(elf, version) for elf in subject.elves for version in [needed_glibc(elf)] if version is not None]
    if not needs:
        return Examination(0, (), "no member needs a glibc version")
    claims = tuple(
        Claim(
            rule=RULE,
            effect=Effect.WARNING if stack_of(elf, subject) else Effect.FAIL,
            path=str(elf.path),
            declared=f"glibc {floor}{origin}",
            observed=f"needs glibc {version}",
            remedy=f"build in an image with glibc {floor} or older, or raise the host floor to {version}",
            targets=() if stack_of(elf, subject) else subject.labels,
            group=str(version),
        )
        for elf, version in needs
        if version > floor
    )
    return Examination(len(needs), claims)


def needed_glibc(elf: ElfFacts) -> GlibcVersion | None:
    """The highest glibc version the file requires; ``None`` when it requires none."""
    found = highest(elf).get(GLIBC)
    return GlibcVersion(found.text) if found is not None else None


def _own(subject: Subject) -> GlibcVersion | None:
    """The version of a C library in the artifact."""
    numbers = (
        name.removeprefix("GLIBC_")
        for elf in subject.elves
        if elf.soname == _LIBRARY
        for name in elf.version_definitions
        if name.startswith("GLIBC_") and name[6:].replace(".", "").isdigit()
    )
    return max(map(GlibcVersion, numbers), default=None)
