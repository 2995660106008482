"""A shared library that neither the bundle nor the host has.

What: a DT_NEEDED entry names a library that is not within reach inside the bundle (RUNPATH, RPATH, $ORIGIN, or loaded
already), is not part of the base system, not of the NVIDIA driver, and not declared as the host's.

Why: build machines have toolkit, NCCL and OpenMP installed, users' machines have a driver. Users see "cannot open
shared object file". libgomp and libnuma are not part of minimal images.

Remedy: ship the library beside its user with RUNPATH $ORIGIN (or $ORIGIN/../lib), link it statically, or declare it
as the host's (host libraries of the lane; --host library=NAME). In a wheel: name the distribution that brings it.

Source: ld.so(8), search order; mesh-llm pull request 1793 and issues 931, 1939; vLLM issue 39872.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.rules import base_system
from pipeline.rules.distributions import brings
from pipeline.rules.subject import Claim, Effect, Examination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts
    from pipeline.rules.loader import Loader
    from pipeline.rules.subject import Subject

RULE = "needed-library"
_OTHER_ACCELERATOR = re.compile(
    r"lib(?:sycl|ze_loader|amdhip64|hip[a-z]+|roc[a-z]+|hsa-runtime64|vulkan|OpenCL|musart|ascendcl|tbb)\.so[.0-9]*",
    re.ASCII,
)
_REMEDY = "ship it beside its user with RUNPATH $ORIGIN, link it statically, or declare it as the host's"


def check(subject: Subject) -> Examination:
    """Every needed library that is nowhere within reach."""
    judged = [elf for elf in subject.elves if elf.needed and not _lone_library(subject, elf)]
    if not judged:
        return Examination(0, (), "no program or bundled library to resolve; a lone library's neighbours are not here")
    from pipeline.rules.loader import Loader

    loader = Loader(subject.inventories)
    claims = tuple(claim for elf in judged for claim in _claims(subject, loader, elf))
    return Examination(sum(len(elf.needed) for elf in judged), claims)


def _lone_library(subject: Subject, elf: ElfFacts) -> bool:
    """A single library file, audited by itself."""
    return elf.interpreter is None and len(elf.path.parts) == 1 and len(subject.inventories) == len(subject.elves)


def _claims(subject: Subject, loader: Loader, elf: ElfFacts) -> Iterator[Claim]:
    host = subject.host.libraries if subject.host is not None else ()
    for name in loader.missing(elf):
        if base_system.has(name) or name in host:
            continue
        elsewhere = loader.tree.named(name)
        package = _package(subject, elf)
        if package and brings(subject.requirements, name):
            continue
        optional = (package and elsewhere) or _for_another_accelerator(elf) or _not_chosen(subject, elf)
        where = f", which lies at {elsewhere[0].path} but not on its search path" if elsewhere else ""
        yield Claim(
            rule=RULE,
            effect=Effect.WARNING if optional else Effect.FAIL,
            path=str(elf.path),
            declared="every needed library is in the bundle or on the host",
            observed=f"needs {name}{where}",
            remedy=_REMEDY,
            targets=() if optional else subject.labels_for(elf.path),
            group=name,
        )


def _for_another_accelerator(elf: ElfFacts) -> bool:
    """Whether the file is the backend of another accelerator, which a CUDA machine does not load."""
    return not elf.has_device_code and any(_OTHER_ACCELERATOR.fullmatch(name) for name in elf.needed)


def _not_chosen(subject: Subject, elf: ElfFacts) -> bool:
    """Whether another CUDA version of this library serves every target."""
    return bool(subject.aims) and not subject.labels_for(elf.path)


def _package(subject: Subject, elf: ElfFacts) -> bool:
    """Whether the file is part of a Python distribution, whose modules load libraries for each other."""
    whole = str(elf.path)
    inside_wheel = any(part.endswith(".whl") for part in elf.path.parts)
    installed = any(".dist-info/" in name for inventory in subject.inventories for name in inventory.files)
    return inside_wheel or "site-packages/" in whole or installed or subject.inventories[0].format == "whl"
