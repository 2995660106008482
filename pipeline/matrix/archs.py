"""Architecture lists: in CMake's dialect (``80-real;90a-virtual;120``, ``all``, ``all-major``), torch's or nvcc's.

A list is in one dialect as a whole; CMake's is the one that everything else in the tool speaks.
Source: https://cmake.org/cmake/help/latest/prop_tgt/CUDA_ARCHITECTURES.html; what the two words stand for, measured:
``nvcc --dryrun -arch=all`` and ``-arch=all-major`` of 13.0.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.arch import ArchKind, ArchSuffix, TargetArch
from pipeline.model.arch_dialects import Dialect, dialect_of, parse_gencode, parse_torch_archs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

ALL = "all"
ALL_MAJOR = "all-major"
_NATIVE = "native"
_KINDS = {"": (ArchKind.REAL, ArchKind.VIRTUAL), "real": (ArchKind.REAL,), "virtual": (ArchKind.VIRTUAL,)}


def parse_archs(text: str, emitted: Collection[TargetArch]) -> tuple[TargetArch, ...]:
    """The architectures of ``text``, sorted and without repetition; ``ValueError`` says what is wrong with it.

    ``emitted`` are the real architectures that the toolkit can emit: what ``all`` and ``all-major`` choose from.
    """
    if text in {ALL, ALL_MAJOR}:
        return _keyword(text, emitted)
    dialect = dialect_of(text)
    if dialect is Dialect.TORCH:
        return parse_torch_archs(text)
    if dialect is Dialect.NVCC:
        return parse_gencode(text)
    return tuple(sorted({arch for word in _split(text) for arch in _parse(word)}))


def spell_archs(archs: Collection[TargetArch]) -> str:
    """The list in CMake's dialect; the inverse of ``parse_archs`` up to order."""
    return ";".join(_spell(archs))


def _spell(archs: Collection[TargetArch]) -> Iterator[str]:
    present = set(archs)
    for arch in archs:
        other = ArchKind.VIRTUAL if arch.kind is ArchKind.REAL else ArchKind.REAL
        if TargetArch(arch.number, arch.suffix, other) not in present:
            yield arch.cmake
        elif arch.kind is ArchKind.REAL:
            yield arch.name


def _split(text: str) -> Iterator[str]:
    if "," in text:
        raise ValueError(f"{text!r} has commas: CMake separates architectures by semicolons")
    words = text.split(";")
    if not all(words):
        raise ValueError(f"{text!r} has an empty item")
    yield from words


def _parse(word: str) -> Iterator[TargetArch]:
    if word == _NATIVE:
        raise ValueError("'native' means the GPUs of the machine that builds: name the architectures")
    if word in {ALL, ALL_MAJOR}:
        raise ValueError(f"{word!r} must stand alone")
    name, dash, kind = word.partition("-")
    if (dash and not kind) or kind not in _KINDS:
        raise ValueError(f"{word!r} ends in neither -real nor -virtual")
    for each in _KINDS[kind]:
        yield TargetArch.of(name, each)


def _keyword(word: str, emitted: Collection[TargetArch]) -> tuple[TargetArch, ...]:
    plain = sorted({arch.number for arch in emitted if arch.suffix is ArchSuffix.NONE})
    if not plain:
        raise ValueError(f"{word!r} needs a toolkit that the policy tables know")
    majors = [number for number in plain if number % 10 == 0]
    real = plain if word == ALL else sorted({plain[0], *majors})
    newest = max(majors, default=plain[-1])
    archs = [TargetArch(number, ArchSuffix.NONE, ArchKind.REAL) for number in real]
    return tuple(sorted([*archs, TargetArch(newest, ArchSuffix.NONE, ArchKind.VIRTUAL)]))
