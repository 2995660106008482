"""Name, libraries and device code tell of different toolkits.

What: the toolkit that a lane declares, or that the asset's name carries (cuda-12.4, cu118, cuda12), is not the one that
the device code and the linked CUDA libraries come from (by SONAME, `cubingate policy cuda_sonames`). Without a lane, a
linked library of another CUDA major fails, all else is a warning.

Why: a stale build folder, a base image that moved, or a package built against another CUDA than its tag. Users choose
the asset by its name and get another driver floor.

Remedy: build with the declared toolkit, or correct the declaration and the name.

Source: PTX ISA manual, release history (which toolkit writes which ISA); the notes of each cubin; mesh-llm pull request
1116.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.versions import ToolkitVersion
from pipeline.policy.unknown import UnknownToolkit
from pipeline.rules.nvidia import is_toolkit_library
from pipeline.rules.subject import Claim, Effect, Examination
from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.rules.subject import Subject
    from pipeline.rules.unit import Image

RULE = "toolkit-mismatch"
_DOTTED = re.compile(r"(?:cuda|cu)[-_]?(1[0-9])\.([0-9])(?![0-9])", re.ASCII | re.IGNORECASE)
_JOINED = re.compile(r"(?<![a-z])cu(1[0-9])([0-9])(?![0-9])", re.ASCII | re.IGNORECASE)
_MAJOR = re.compile(r"(?<![a-z0-9])(?:cuda|cu)[-_]?(1[0-9])()(?![0-9]|\.[0-9])", re.ASCII | re.IGNORECASE)
_REMEDY = "build with the declared toolkit, or correct the declaration and the name"
# PTX ISA 7.x is CUDA 11.x, 8.x is 12.x, 9.x is 13.x.
_PTX_TO_CUDA = 4


@dataclass(frozen=True, slots=True)
class _Declared:
    """The declared toolkit, who says so, and whether that is a promise. ``minor`` is -1 where only a major is named."""

    major: int
    minor: int
    origin: str
    binding: bool

    def __str__(self) -> str:
        return f"CUDA {self.major} ({self.origin})" if self.minor < 0 else f"CUDA {self.version} ({self.origin})"

    @property
    def version(self) -> ToolkitVersion:
        return ToolkitVersion(f"{self.major}.{max(self.minor, 0)}")

    def is_of(self, major: int, minor: int) -> bool:
        """Whether a trace of that toolkit agrees."""
        return major == self.major and self.minor in {-1, minor}


@dataclass(frozen=True, slots=True)
class _Trace:
    """Where a toolkit shows, what it is, whether it agrees; ``linked`` for a library of another major."""

    path: str
    observed: str
    agrees: bool
    linked: bool = False


def check(subject: Subject) -> Examination:
    """Compare the declared toolkit with every trace of one."""
    declared = _declared(subject)
    if declared is None:
        return Examination(0, (), "neither a lane nor the name declares a toolkit")
    traces = dict.fromkeys(_traces(subject, declared))
    if not traces:
        return Examination(0, (), "no trace of a toolkit in the input")
    return Examination(len(traces), tuple(_claim(subject, declared, trace) for trace in traces if not trace.agrees))


def _claim(subject: Subject, declared: _Declared, trace: _Trace) -> Claim:
    certain = declared.binding or trace.linked
    return Claim(
        rule=RULE,
        effect=Effect.FAIL if certain else Effect.WARNING,
        path=trace.path,
        declared=str(declared),
        observed=trace.observed,
        remedy=_REMEDY,
        targets=subject.labels if certain else (),
        group=trace.path,
    )


def _declared(subject: Subject) -> _Declared | None:
    if subject.declaration is not None and subject.declaration.toolkit is not None:
        toolkit = subject.declaration.toolkit
        return _Declared(toolkit.major, toolkit.minor, f"lane {subject.declaration.lane}", binding=True)
    name = subject.inventories[0].root.rpartition("/")[2]
    found = _DOTTED.search(name) or _JOINED.search(name) or _MAJOR.search(name)
    return _Declared(int(found[1]), int(found[2] or -1), f"named {name}", binding=False) if found else None


def _traces(subject: Subject, declared: _Declared) -> Iterator[_Trace]:
    for elf in subject.elves:
        for name in elf.needed:
            row = subject.policy.cuda_sonames.get(name)
            if row is not None:
                agrees = row.major == declared.major
                yield _Trace(str(elf.path), f"linked with {name} of CUDA {row.major}", agrees, linked=not agrees)
    for unit in subject.units:
        if not is_toolkit_library(unit.library.name):
            for image in flat(unit.images):
                yield from _of_image(subject, declared, str(unit.library), image)


def _of_image(subject: Subject, declared: _Declared, library: str, image: Image) -> Iterator[_Trace]:
    if image.toolkit is not None:
        agrees = declared.is_of(image.toolkit.major, image.toolkit.minor)
        yield _Trace(library, f"cubins of CUDA {image.toolkit}", agrees)
    elif image.ptx is not None:
        yield _Trace(library, f"PTX ISA {image.ptx}", _writes(subject, declared, image.ptx.text))


def _writes(subject: Subject, declared: _Declared, ptx: str) -> bool:
    if declared.minor < 0:
        return int(ptx.partition(".")[0]) + _PTX_TO_CUDA == declared.major
    try:
        return subject.policy.toolkit(declared.version).ptx.text == ptx
    except UnknownToolkit:
        return True
