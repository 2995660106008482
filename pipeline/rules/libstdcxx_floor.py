"""A host file needs a newer libstdc++ than the declared host has.

What: the highest GLIBCXX_ symbol version that a program or library requires is above the host's, and the bundle does
not ship libstdc++ itself.

Why: a new compiler binds to new symbols. Users see "version `GLIBCXX_3.4.32' not found" at process start.

Remedy: build with an older compiler, link libstdc++ statically (-static-libstdc++), or ship it beside the program.

Source: the version needs of the ELF file; libstdc++ manual, ABI policy and guidelines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.versions import GlibcxxVersion
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts
    from pipeline.rules.subject import Subject

RULE = "libstdcxx-floor"
_PREFIX = "GLIBCXX_"
_LIBRARY = "libstdc++.so.6"


def check(subject: Subject) -> Examination:
    """Every file that needs a newer libstdc++ than the host's."""
    if subject.host is None or subject.host.glibcxx is None:
        return Examination(0, (), "no host libstdc++ is declared")
    if any(name.rpartition("/")[2] == _LIBRARY for inventory in subject.inventories for name in inventory.files):
        return Examination(0, (), "the bundle ships its own libstdc++")
    needs = [(elf, version) for elf in subject.elves for version in [needed_glibcxx(elf)] if version is not None]
    if not needs:
        return Examination(0, (), "no member needs a libstdc++ version")
    floor = subject.host.glibcxx
    claims = tuple(
        Claim(
            rule=RULE,
            effect=Effect.FAIL,
            path=str(elf.path),
            declared=f"GLIBCXX {floor}",
            observed=f"needs GLIBCXX {version}",
            remedy="build with an older compiler, or link with -static-libstdc++",
            targets=subject.labels,
            group=str(version),
        )
        for elf, version in needs
        if version > floor
    )
    return Examination(len(needs), claims)


def needed_glibcxx(elf: ElfFacts) -> GlibcxxVersion | None:
    """The highest libstdc++ version the file requires; ``None`` when it requires none."""
    return max(_versions(elf), default=None)


def _versions(elf: ElfFacts) -> Iterator[GlibcxxVersion]:
    for names in elf.version_needs.values():
        for name in names:
            number = name.removeprefix(_PREFIX)
            if name.startswith(_PREFIX) and number.replace(".", "").isdigit() and "." in number:
                yield GlibcxxVersion(number)
