"""Name, libraries and device code tell of different toolkits.

What: the toolkit that a lane declares, or that the asset's name carries (cuda-12.4, cu118), is not the one that the
device code and the linked CUDA runtime come from.

Why: a stale build folder, a base image that moved, or a package built against another CUDA than its tag. Users choose
the asset by its name and get another driver floor.

Remedy: build with the declared toolkit, or correct the declaration and the name.

Source: PTX ISA manual, release history (which toolkit writes which ISA); the notes of each cubin.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.model.versions import ToolkitVersion
from pipeline.policy.unknown import UnknownToolkit
from pipeline.rules.nvidia import is_toolkit_library
from pipeline.rules.subject import Claim, Effect, Examination
from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.rules.subject import Subject

RULE = "toolkit-mismatch"
_DOTTED = re.compile(r"(?:cuda|cu)[-_]?(1[0-9])\.([0-9])(?![0-9])", re.ASCII | re.IGNORECASE)
_JOINED = re.compile(r"(?<![a-z])cu(1[0-9])([0-9])(?![0-9])", re.ASCII | re.IGNORECASE)
_RUNTIME = re.compile(r"libcudart\.so\.([0-9]{2})(?:\.[0-9.]+)?", re.ASCII)
_REMEDY = "build with the declared toolkit, or correct the declaration and the name"


def check(subject: Subject) -> Examination:
    """Compare the declared toolkit with every trace of one."""
    declared, origin = _declared(subject)
    if declared is None:
        return Examination(0, (), "neither a lane nor the name declares a toolkit")
    traces = dict.fromkeys(_traces(subject, declared))
    if not traces:
        return Examination(0, (), "no trace of a toolkit in the input")
    binding = subject.declaration is not None and subject.declaration.toolkit is not None
    claims = tuple(
        Claim(
            rule=RULE,
            effect=Effect.FAIL if binding else Effect.WARNING,
            path=path,
            declared=f"CUDA {declared.major}.{declared.minor} ({origin})",
            observed=observed,
            remedy=_REMEDY,
            targets=subject.labels if binding else (),
            group=path,
        )
        for path, observed, agrees in traces
        if not agrees
    )
    return Examination(len(traces), claims)


def _declared(subject: Subject) -> tuple[ToolkitVersion | None, str]:
    if subject.declaration is not None and subject.declaration.toolkit is not None:
        return subject.declaration.toolkit, f"lane {subject.declaration.lane}"
    name = subject.inventories[0].root.rpartition("/")[2]
    found = _DOTTED.search(name) or _JOINED.search(name)
    return (ToolkitVersion(f"{found[1]}.{found[2]}"), f"named {name}") if found else (None, "")


def _traces(subject: Subject, declared: ToolkitVersion) -> Iterator[tuple[str, str, bool]]:
    """Where a toolkit shows, what it is, and whether it agrees."""
    for elf in subject.elves:
        for name in elf.needed:
            found = _RUNTIME.fullmatch(name)
            if found:
                yield str(elf.path), f"linked with {name}", int(found[1]) == declared.major
    for unit in subject.units:
        if not is_toolkit_library(unit.library.name):
            for image in flat(unit.images):
                if image.toolkit is not None:
                    same = (image.toolkit.major, image.toolkit.minor) == (declared.major, declared.minor)
                    yield str(unit.library), f"cubins of CUDA {image.toolkit}", same
                elif image.ptx is not None:
                    yield str(unit.library), f"PTX ISA {image.ptx}", _writes(subject, declared, image.ptx.text)


def _writes(subject: Subject, toolkit: ToolkitVersion, ptx: str) -> bool:
    try:
        return subject.policy.toolkit(toolkit).ptx.text == ptx
    except UnknownToolkit:
        return True
