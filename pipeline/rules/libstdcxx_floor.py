"""A host file needs newer GCC runtime libraries than the declared host has.

What: the highest GLIBCXX_, CXXABI_ or GCC_ symbol version that a program or library requires is above the host's
libstdc++ or libgcc. CXXABI and GCC are those of the GCC release that brought the declared GLIBCXX. Libraries that the
bundle ships are measured by what they offer. Where only a glibc is declared, the manylinux policy of that glibc says
what its hosts have, and what is above is a warning.

Why: a new compiler binds to new symbols. Users see "version `GLIBCXX_3.4.32' not found" at process start.

Remedy: build with an older compiler, link libstdc++ statically (-static-libstdc++ -static-libgcc), or ship it beside
the program.

Source: the version needs of the ELF file, as auditwheel counts them; libstdc++ manual, ABI policy and guidelines;
manylinux policies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.versions import DottedVersion
from pipeline.policy.unknown import UnknownRuntime
from pipeline.rules.optional import stack_of
from pipeline.rules.subject import Claim, Effect, Examination
from pipeline.rules.symbol_versions import CXXABI, GCC, GLIBCXX, highest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts
    from pipeline.policy import Policy
    from pipeline.policy.rows import RuntimeRow
    from pipeline.rules.declaration import HostFloor
    from pipeline.rules.subject import Subject

RULE = "libstdcxx-floor"
_FAMILIES = (GLIBCXX, CXXABI, GCC)
_REMEDY = "build with an older compiler, or link with -static-libstdc++ -static-libgcc"


@dataclass(frozen=True, slots=True)
class _Promised:
    """What the host has by family, whether that is declared or only usual, and what the artifact has of its own."""

    floors: dict[str, DottedVersion]
    declared: bool
    own: dict[str, frozenset[str]]


def check(subject: Subject) -> Examination:
    """Every file that needs a newer libstdc++ or libgcc than the host's."""
    host = subject.host
    if host is None or (host.glibcxx is None and host.glibc is None):
        return Examination(0, (), "no host libstdc++ is declared")
    promised = _Promised(dict(_floors(host, subject.policy)), host.glibcxx is not None, dict(_own(subject)))
    needs = [elf for elf in subject.elves if any(family in highest(elf) for family in _FAMILIES)]
    if not needs:
        return Examination(0, (), "no member needs a libstdc++ version")
    claims = (
        claim for elf in needs for claim in (*_above(subject, elf, promised), *_unoffered(subject, elf, promised))
    )
    return Examination(len(needs), tuple(claims))


def _floors(host: HostFloor, policy: Policy) -> Iterator[tuple[str, DottedVersion]]:
    """What the host has: as declared, or as the manylinux policy of its glibc has it."""
    row = _runtime(host, policy)
    if row is not None:
        yield from ((GLIBCXX, DottedVersion(row.glibcxx.text)), (CXXABI, row.cxxabi), (GCC, row.libgcc))
    if host.glibcxx is not None:
        yield GLIBCXX, DottedVersion(host.glibcxx.text)


def _runtime(host: HostFloor, policy: Policy) -> RuntimeRow | None:
    try:
        if host.glibcxx is not None:
            return policy.runtime_of(host.glibcxx)
        return policy.manylinux_of(host.glibc) if host.glibc is not None else None
    except UnknownRuntime:
        return None  # then only what is declared is compared


def _own(subject: Subject) -> Iterator[tuple[str, frozenset[str]]]:
    """Libraries in the artifact by the names they are needed by, with the symbol versions that they offer."""
    for elf in subject.elves:
        for name in {elf.soname, elf.path.name.rpartition("/")[2]} - {None}:
            yield str(name), frozenset(elf.version_definitions)


def _above(subject: Subject, elf: ElfFacts, promised: _Promised) -> Iterator[Claim]:
    found = highest(elf, frozenset(promised.own))
    for family in _FAMILIES:
        version, floor = found.get(family), promised.floors.get(family)
        if version is None or floor is None or version <= floor:
            continue
        host = "" if promised.declared else " on hosts of that glibc (manylinux)"
        yield _claim(subject, elf, f"{family} {floor}{host}", f"{family} {version}", certain=promised.declared)


def _unoffered(subject: Subject, elf: ElfFacts, promised: _Promised) -> Iterator[Claim]:
    """Versions that the artifact's own runtime lacks."""
    for library, names in elf.version_needs.items():
        offered = promised.own.get(library, frozenset())
        lacking = sorted(name for name in names if name.partition("_")[0] in _FAMILIES and name not in offered)
        if offered and lacking:
            yield _claim(subject, elf, f"{library} of the artifact", lacking[-1].replace("_", " ", 1), certain=True)


def _claim(subject: Subject, elf: ElfFacts, declared: str, version: str, *, certain: bool) -> Claim:
    certain = certain and not stack_of(elf, subject)
    return Claim(
        rule=RULE,
        effect=Effect.FAIL if certain else Effect.WARNING,
        path=str(elf.path),
        declared=declared,
        observed=f"needs {version}",
        remedy=_REMEDY,
        targets=subject.labels if certain else (),
        group=version,
    )
