"""A shared library that neither the bundle nor the host has.

What: a DT_NEEDED entry names a library that the dynamic linker does not find: not loaded already, not on the RPATH of
the file or of what loads it, not on its RUNPATH, not where ld.so.conf of a root file system points. It is not part of
the base system (`cubingate policy host_libraries`) nor of the NVIDIA driver, and not declared as the host's. Nothing
is expected of a toolkit or of LD_LIBRARY_PATH. Names that a file may open at run time (dlopen) are told as notes, and
what a plugin for other stacks lacks (`cubingate policy optional_stacks`) as warnings, as no program needs it to start.

Why: build machines have toolkit, NCCL and OpenMP installed, users' machines have a driver. Users see "cannot open
shared object file". libgomp and libnuma are not part of minimal images.

Remedy: ship the library beside its user with RUNPATH $ORIGIN (or $ORIGIN/../lib), link it statically, or declare it
as the host's (host libraries of the lane; --host library=NAME). In a wheel: name the distribution that brings it.

Source: ld.so(8), search order; glibc's own loader in a bare Debian 12; mesh-llm pull request 1793 and issues 931, 1939;
vLLM issue 39872.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts
    from pipeline.rules.closure import Closures, Gap
    from pipeline.rules.host import HostOffer
    from pipeline.rules.loader import Loader
    from pipeline.rules.subject import Subject

RULE = "needed-library"
_DISTRIBUTION = re.compile(r"(?:usr/)?(?:lib|lib64|libexec|bin|sbin)/", re.ASCII)
_DEBIAN_BASE = frozenset(("libc6", "libgcc-s1", "libgcc1", "libstdc++6"))
_REMEDY = (
    "ship it beside its user with RUNPATH $ORIGIN, link it statically, "
    "or declare it as the host's (--host library=NAME)"
)
_DECLARED = "every needed library is in the bundle or on the host"
_TOLD = 6


def check(subject: Subject) -> Examination:
    """Every needed library that is nowhere within reach."""
    judged = [elf for elf in subject.elves if elf.needed and not _lone_library(subject, elf)]
    if not judged:
        return Examination(0, (), "no program or bundled library to resolve; a lone library's neighbours are not here")
    from pipeline.rules.closure import closures
    from pipeline.rules.host import HostOffer
    from pipeline.rules.loader import Loader

    loader = Loader(subject.inventories, subject.host.cpu if subject.host is not None else None)
    host = HostOffer.of(subject.policy.host_libraries, subject.host)
    found = closures(loader, judged, host)
    packages = _has_packages(subject)
    gaps = (claim for gap in found.gaps(loader) for claim in _gap(subject, loader, gap, packages=packages))
    claims = (*gaps, *_often_absent(found, host), *_opened(subject.elves, loader, host))
    return Examination(sum(len(elf.needed) for elf in judged), claims)


def _lone_library(subject: Subject, elf: ElfFacts) -> bool:
    """A single library file, audited by itself."""
    return elf.interpreter is None and len(elf.path.parts) == 1 and len(subject.inventories) == len(subject.elves)


def _gap(subject: Subject, loader: Loader, gap: Gap, *, packages: bool) -> Iterator[Claim]:
    from pipeline.rules.distributions import brings, may_bring
    from pipeline.rules.optional import stack_of

    package = packages or _in_package(gap.elf)
    if package and brings(subject.requirements, gap.name):
        return
    elsewhere = loader.tree.named(gap.name)
    stack = stack_of(gap.elf, subject) if gap.program is None else ""
    optional = (
        (package and (elsewhere or may_bring(subject.requirements, gap.name)))
        or stack
        or _in_debian_package(subject, gap.elf)
        or _not_chosen(subject, gap.elf)
        or _plugin_of_the_distribution(loader, gap)
    )
    yield Claim(
        rule=RULE,
        effect=Effect.WARNING if optional else Effect.FAIL,
        path=str(gap.elf.path),
        declared=_DECLARED,
        observed=f"needs {gap.name}{_whereabouts(loader, gap)}{f' (a plugin for {stack})' if stack else ''}",
        remedy=_remedy(loader, gap),
        targets=() if optional else subject.labels_for(gap.elf.path),
        group=gap.name,
    )


def _remedy(loader: Loader, gap: Gap) -> str:
    """What to change, closer where something like it is there."""
    if loader.tree.named(gap.name):
        return "set RUNPATH $ORIGIN (or the folder it lies in, from there) on the file that needs it"
    others = loader.tree.versions(gap.name.partition(".so")[0])
    return f"link with the {others[0]} that is shipped, or ship {gap.name}" if others else _REMEDY


def _whereabouts(loader: Loader, gap: Gap) -> str:
    """What is there instead, in words."""
    elsewhere = loader.tree.named(gap.name)
    if elsewhere:
        return f", which lies at {elsewhere[0].path} but not on its search path"
    stem = gap.name.partition(".so")[0]
    others = loader.tree.versions(stem)
    return f"; the artifact has {' and '.join(others[:2])} instead" if others else ""


def _not_chosen(subject: Subject, elf: ElfFacts) -> bool:
    """Whether another CUDA version of this library serves every target."""
    return bool(subject.aims) and not subject.labels_for(elf.path)


def _in_debian_package(subject: Subject, elf: ElfFacts) -> bool:
    """Whether the file comes with a Debian package whose Depends may bring what it needs: more than the base system."""
    if subject.inventories[0].format == "deb":
        return not _DEBIAN_BASE.issuperset(subject.requirements)
    return any(part.endswith(".deb") for part in elf.path.parts)


def _plugin_of_the_distribution(loader: Loader, gap: Gap) -> bool:
    """Whether an image's distribution brought the library, and no program of the image needs it to start."""
    place = loader.place(gap.elf)
    own = place.container in loader.tree.complete and _DISTRIBUTION.match(place.path) is not None
    return own and gap.program is None and not gap.elf.has_device_code


def _has_packages(subject: Subject) -> bool:
    """Whether the artifact is a Python distribution, or has some installed."""
    whole = subject.inventories[0].format == "whl"
    return whole or any(".dist-info/" in name for inventory in subject.inventories for name in inventory.files)


def _in_package(elf: ElfFacts) -> bool:
    """Whether the file is part of a Python distribution, whose modules load libraries for each other."""
    return any(part.endswith(".whl") for part in elf.path.parts) or "site-packages/" in str(elf.path)


def _often_absent(found: Closures, host: HostOffer) -> Iterator[Claim]:
    """Libraries that manylinux lets wheels expect and that minimal images lack."""
    for elf, name in dict.fromkeys((str(elf.path), name) for elf, name in found.from_host()):
        if host.lacks_at_times(name):
            yield Claim(
                rule=RULE,
                effect=Effect.WARNING,
                path=elf,
                declared=_DECLARED,
                observed=f"needs {name}, which manylinux lets it expect and minimal images lack",
                remedy=_REMEDY,
                group=name,
            )


def _stem(name: str) -> str:
    return name.partition(".so")[0]


def _opened(elves: tuple[ElfFacts, ...], loader: Loader, host: HostOffer) -> Iterator[Claim]:
    """Library names in a file's data that it may hand to dlopen: never decisive, for a string need not be used."""
    there = {_stem(name) for name in (*host.listed, *host.declared, *loader.tree.by_name)}
    for elf in elves:
        names = dict.fromkeys(name.rpartition("/")[2] for name in elf.dlopen_names)
        absent = [name for name in names if _stem(name) not in there and name not in elf.needed]
        if absent:
            more = f" and {len(absent) - _TOLD} more" if len(absent) > _TOLD else ""
            yield Claim(
                rule=RULE,
                effect=Effect.NOTE,
                path=str(elf.path),
                declared=_DECLARED,
                observed=f"may open {', '.join(absent[:_TOLD])}{more} at run time; neither bundle nor host brings them",
                remedy="nothing, if the program does without; else ship them",
            )
