"""Which CUDA version a distribution is of: by name, by the CUDA libraries it carries or links, by its device code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.formats.facts import ElfFacts
    from pipeline.model.distribution import Distribution
    from pipeline.model.versions import PtxVersion
    from pipeline.policy import Policy
    from pipeline.rules.subject import Subject
    from pipeline.rules.unit import Image, Unit

_NAMED = re.compile(r"(?<![a-z0-9])cu(?:da)?-?(1[0-9])[0-9x]?(?![0-9])", re.ASCII)
_LOCAL = re.compile(r"\+cu(1[0-9])[0-9]", re.ASCII)
# NVIDIA's distributions without a CUDA major in their name whose own version is the toolkit's.
_OF_TOOLKIT = re.compile(
    r"nvidia-(?:cuda-(?:nvcc|nvrtc|runtime|cupti|cccl|crt|cuobjdump|nvdisasm|sanitizer-api)|nvjitlink|nvfatbin|nvvm|nvtx)"
    r"|cuda-(?:toolkit|bindings|python)",
    re.ASCII,
)
_MANGLED = re.compile(r"(lib[A-Za-z_]+)(?:-[0-9a-f]{8})?\.so\.([0-9]+(?:\.[0-9]+)?)(?:\.[0-9.]*)?", re.ASCII)
_DLL = re.compile(r"(?:cudart|cublas|cublasLt|nvrtc)64_(1[0-9])[0-9]?(?:_0)?\.dll", re.ASCII)
_TOOLKIT_FOLDER = re.compile(r"cuda-(1[0-9])\.[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Provenance:
    """CUDA majors and where each shows. ``named`` is 0 where the name says nothing; ``toolkits`` made the device code.

    ``carried`` and ``linked`` give for each major the first library, ``built`` the majors of device code beyond doubt.
    """

    distribution: Distribution
    named: int
    carried: dict[int, str]
    linked: dict[int, str]
    built: frozenset[int]
    toolkits: tuple[str, ...]
    units: tuple[Unit, ...] = field(repr=False)
    elves: tuple[ElfFacts, ...] = field(repr=False)

    @property
    def majors(self) -> frozenset[int]:
        """What it says of itself and needs; its device code decides only where nothing else does."""
        told = frozenset((*self.carried, *self.linked, *((self.named,) if self.named else ())))
        return told or self.built

    def needs(self, names: Iterable[str]) -> bool:
        """Whether one of its files is linked with one of these libraries."""
        wanted = frozenset(names)
        return any(wanted.intersection(elf.needed) for elf in self.elves)

    def brings(self, names: Iterable[str]) -> bool:
        """Whether one of its files is called so."""
        wanted = frozenset(names)
        return any(member.rpartition("/")[2] in wanted for member in self.distribution.members)


def provenances(subject: Subject) -> tuple[Provenance, ...]:
    """One for each distribution of the subject, in their order."""
    owner = {member: place for place, item in enumerate(subject.distributions) for member in item.members}
    elves: list[list[ElfFacts]] = [[] for _ in subject.distributions]
    units: list[list[Unit]] = [[] for _ in subject.distributions]
    for elf in subject.elves if owner else ():
        if (place := owner.get(str(elf.path))) is not None:
            elves[place].append(elf)
    for unit in subject.units if owner else ():
        if (place := owner.get(str(unit.library))) is not None:
            units[place].append(unit)
    return tuple(
        _provenance(item, tuple(elves[place]), tuple(units[place]), subject.policy)
        for place, item in enumerate(subject.distributions)
    )


def _provenance(item: Distribution, elves: tuple[ElfFacts, ...], units: tuple[Unit, ...], policy: Policy) -> Provenance:
    carried: dict[int, str] = {}
    for member in sorted(item.members):
        name = member.rpartition("/")[2]
        if major := _major_of_library(name, policy):
            carried.setdefault(major, name)
    linked: dict[int, str] = {}
    for elf in elves:
        for name in elf.needed:
            if major := _major_of_library(name, policy):
                linked.setdefault(major, name)
    images = [image for unit in units for image in flat(unit.images)]
    built = frozenset(image.majors[0] for image in images if len(image.majors) == 1)
    return Provenance(
        item,
        named_major(item),
        carried,
        linked,
        built,
        tuple(sorted(set(_toolkits(images, policy)), key=_numbers)),
        units,
        elves,
    )


def named_major(item: Distribution) -> int:
    """``torch 2.9.0+cu126`` and ``cupy-cuda12x`` are of 12; 0 where neither name nor version says."""
    found = _LOCAL.search(item.version) or _NAMED.search(item.name)
    if found is None and not item.claimed:
        found = _TOOLKIT_FOLDER.fullmatch(item.name)
    if found is None and _OF_TOOLKIT.fullmatch(item.name):
        found = re.match(r"(1[0-9])\.", item.version)
    return int(found[1]) if found else 0


def _major_of_library(name: str, policy: Policy) -> int:
    if dll := _DLL.fullmatch(name):
        return int(dll[1])
    found = _MANGLED.fullmatch(name)
    if found is None:
        return 0
    for soname in (f"{found[1]}.so.{found[2]}", f"{found[1]}.so.{found[2].partition('.')[0]}"):
        if row := policy.cuda_sonames.get(soname):
            return row.major
    return 0


def _toolkits(images: list[Image], policy: Policy) -> Iterator[str]:
    """Toolkits that made the device code: by a cubin's note, or by the ISA of PTX, which two toolkits may share."""
    noted = {image.toolkit for image in images if image.toolkit is not None}
    yield from (str(version) for version in sorted(noted))
    written = {image.ptx for image in images if image.ptx is not None}
    for ptx in sorted(written):
        makers = _makers(ptx, policy)
        if makers and not any(str(version) in makers for version in noted):
            yield makers[0] if len(makers) == 1 else f"{makers[0]} or {makers[-1]}"


def _numbers(toolkit: str) -> tuple[int, ...]:
    return tuple(int(part) for part in toolkit.split(maxsplit=1)[0].split("."))


def _makers(ptx: PtxVersion, policy: Policy) -> list[str]:
    made = {f"{row.version.major}.{row.version.minor}" for row in policy.toolkits if row.ptx.text == ptx.text}
    return sorted(made, key=_numbers)
