"""The bundle brings a libcuda of its own.

What: libcuda.so.1 (the driver's library, or the toolkit's stub of it) is in the bundle where the dynamic linker finds
it: on the search path of a member, or simply as libcuda.so.1 outside a compat folder. A stub that stays in its
lib/stubs folder, off every search path, is harmless.

Why: libcuda must be the one of the host's kernel driver. A stub answers "CUDA driver is a stub library" (34), another
version "system has unsupported display driver / cuda driver combination" (803).

Remedy: leave libcuda out of the bundle and off the RUNPATH (link against lib/stubs, never ship or search it).

Source: CUDA driver API, error 34; measured: H200 with driver 580.159.04, stub and foreign libcuda; LocalAI issue 840.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts
    from pipeline.rules.loader import Loader, Place
    from pipeline.rules.subject import Subject

RULE = "driver-library-shipped"
NAME = "libcuda.so.1"
_FILE = re.compile(r"libcuda\.so(?:\.[0-9.]+)?", re.ASCII)
_ERROR = "CUDA_ERROR_STUB_LIBRARY"


def check(subject: Subject) -> Examination:
    """Every libcuda in the artifact that a member would load."""
    if not subject.elves:
        return Examination(0, (), "no ELF file in the input")
    shipped = [elf for elf in subject.elves if _is_libcuda(str(elf.path), elf.soname)]
    return Examination(len(subject.elves), _claims(subject, shipped) if shipped else ())


def _claims(subject: Subject, libraries: list[ElfFacts]) -> tuple[Claim, ...]:
    from pipeline.rules.loader import Loader, Place

    loader = Loader(subject.inventories)
    shipped = {Place.of(str(elf.path)) for elf in libraries}
    found = {place: user for place, user in _searched(subject, loader) if place in shipped}
    for place in sorted(shipped - found.keys(), key=str):
        if _exposed(loader, place):
            found[place] = "any member, once its folder is searched"
    return tuple(_claim(subject, place, user) for place, user in found.items() if not is_compat(place))


def _is_libcuda(printed: str, soname: str | None) -> bool:
    return soname == NAME or _FILE.fullmatch(printed.rpartition("/")[2]) is not None


def is_compat(place: Place) -> bool:
    """Whether the file lies in the folder of a forward-compatibility package."""
    return "compat" in place.path.split("/")[:-1]


def _searched(subject: Subject, loader: Loader) -> Iterator[tuple[Place, str]]:
    for elf in subject.elves:
        hit = loader.search(elf, NAME) if NAME in elf.needed else None
        if hit is not None:
            yield hit, str(elf.path)


def _exposed(loader: Loader, place: Place) -> bool:
    """Whether it is there under the name that programs load, and not put away in a stubs folder."""
    names = {other for other in (*loader.tree.files, *loader.tree.links) if loader.tree.resolve(other) == place}
    return any(other.name == NAME and "stubs" not in other.path.split("/")[:-1] for other in names)


def _claim(subject: Subject, place: Place, user: str) -> Claim:
    printed = f"{place.container}{place.path}"
    return Claim(
        rule=RULE,
        effect=Effect.FAIL,
        path=printed,
        declared="libcuda comes from the host's driver",
        observed=f"{place.path} is found first by {user}",
        remedy="leave libcuda out of the bundle and off every RUNPATH",
        targets=subject.labels,
        error=_ERROR,
        group=printed,
    )
