"""The bundle brings a library of the driver, or a toolkit's stub of one.

What: libcuda.so.1, libnvidia-ml.so.1 (NVML) or libnvidia-ptxjitcompiler.so.1 is in the bundle where the dynamic linker
finds it: on the search path of a member, in a system folder of an image, or simply under that name outside a compat
folder. A stub that stays in its lib/stubs folder, off every search path, is harmless. Stub and driver are told apart
by content: a stub's functions are a few bytes each.

Why: these must be the ones of the host's kernel driver. A stub answers "CUDA driver is a stub library" (34), another
version "system has unsupported display driver / cuda driver combination" (803), a foreign NVML "Driver/library version
mismatch".

Remedy: leave the driver's libraries out of the bundle and off the RUNPATH (link against lib/stubs, never ship or search
it).

Source: CUDA driver API, error 34; measured: H200 with driver 580.159.04, stub and foreign libcuda; LocalAI issue 840;
mesh-llm pull request 1694.
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
_NAMES = (NAME, "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1")
_FILE = re.compile(r"(lib(?:cuda|nvidia-ml|nvidia-ptxjitcompiler)\.so)(?:\.[0-9.]+)?", re.ASCII)
# The stubs of libcuda (some 700 functions) and NVML (some 400) have 20 to 60 KiB of code; the real ones from 1 MiB on.
_LARGEST_STUB = 256 << 10
_ERRORS = {True: "CUDA_ERROR_STUB_LIBRARY", False: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}


def check(subject: Subject) -> Examination:
    """Every driver library in the artifact that a member would load."""
    if not subject.elves:
        return Examination(0, (), "no ELF file in the input")
    shipped = [elf for elf in subject.elves if driver_name(elf)]
    return Examination(len(subject.elves), _claims(subject, shipped) if shipped else ())


def driver_name(elf: ElfFacts) -> str:
    """The name under which programs load this file, if it is one of the driver's; else nothing."""
    if elf.soname in _NAMES:
        return elf.soname
    found = _FILE.fullmatch(elf.path.name.rpartition("/")[2])
    return f"{found[1]}.1" if found else ""


def is_stub(elf: ElfFacts) -> bool:
    """Whether there is no room in its code for a driver."""
    return elf.code_size <= _LARGEST_STUB


def _claims(subject: Subject, libraries: list[ElfFacts]) -> tuple[Claim, ...]:
    from pipeline.rules.loader import Loader

    loader = Loader(subject.inventories)
    shipped = {loader.place(elf): elf for elf in libraries}
    found = {place: user for place, user in _searched(subject, loader) if place in shipped}
    for place in sorted(shipped.keys() - found.keys(), key=str):
        if _exposed(loader, place, driver_name(shipped[place])):
            found[place] = "any member, once its folder is searched"
    return tuple(_claim(subject, loader, shipped[place], user) for place, user in found.items() if not is_compat(place))


def is_compat(place: Place) -> bool:
    """Whether the file lies in the folder of a forward-compatibility package."""
    return "compat" in place.path.split("/")[:-1]


def _searched(subject: Subject, loader: Loader) -> Iterator[tuple[Place, str]]:
    for elf in subject.elves:
        for name in _NAMES:
            hit = loader.search(elf, name) if name in elf.needed or name in elf.dlopen_names else None
            if hit is not None:
                yield hit, str(elf.path)


def _exposed(loader: Loader, place: Place, name: str) -> bool:
    """Whether it is there under the name that programs load, and not put away in a stubs folder."""
    return any(
        "stubs" not in other.path.split("/")[:-1] and loader.tree.resolve(other) == place
        for other in loader.tree.named(name)
    )


def _claim(subject: Subject, loader: Loader, elf: ElfFacts, user: str) -> Claim:
    printed = loader.tree.print(loader.place(elf))
    stub = is_stub(elf)
    kind = "a stub of" if stub else "a driver's"
    return Claim(
        rule=RULE,
        effect=Effect.FAIL,
        path=printed,
        declared=f"{driver_name(elf)} comes from the host's driver",
        observed=f"{loader.place(elf).path}, {kind} {driver_name(elf)}, is found first by {user}",
        remedy="leave the driver's libraries out of the bundle and off every RUNPATH",
        targets=subject.labels,
        error=_ERRORS[stub] if driver_name(elf) == NAME else "",
        group=printed,
    )
