"""What is needed to compile for a GPU that is not here: NVIDIA's compilers as wheels, and which SM has what first."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.model.arch import ArchKind, ArchSuffix, TargetArch
from pipeline.model.versions import ToolkitVersion
from pipeline.policy.unknown import InconsistentTables, UnknownCompiler

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Row = dict[str, str]
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NUMBER = re.compile(r"[0-9]+", re.ASCII)


class Part(StrEnum):
    """A piece of a toolkit that comes in a wheel of its own."""

    NVRTC = "nvrtc"
    CUDART = "cudart"
    CCCL = "cccl"
    CRT = "crt"


class FeatureLanguage(StrEnum):
    """In whose words a feature is recognized: PTX's, or those in which the CUDA C++ compiler refuses it."""

    PTX = "ptx"
    CUDA = "cuda"


@dataclass(frozen=True, slots=True)
class JitWheel:
    """A wheel with one part of one toolkit, pinned by the SHA-256 of its bytes, for machines of ``platform``."""

    part: Part
    cuda: ToolkitVersion
    platform: str
    package: str
    version: str
    filename: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Feature:
    """An instruction, modifier or construct, and the architecture that has it first.

    ``pattern`` is searched in a line of PTX, or in a diagnostic of the CUDA C++ compiler. ``example`` uses it.
    """

    name: str
    language: FeatureLanguage
    pattern: str
    first: TargetArch
    ptx: str
    example: str

    def is_in(self, text: str) -> bool:
        """Whether ``text`` uses it."""
        return re.search(self.pattern, text) is not None

    def is_had_by(self, arch: TargetArch) -> bool:
        """Whether code for ``arch`` may use it; of suffixes only that there is one counts."""
        suffixed = arch.suffix is not ArchSuffix.NONE or self.first.suffix is ArchSuffix.NONE
        return arch.number >= self.first.number and suffixed


@dataclass(frozen=True, slots=True)
class Lacking:
    """An instruction, and the feature that the architecture it was written for does not have."""

    instruction: str
    feature: Feature


@dataclass(frozen=True, slots=True)
class JitTables:
    """The two tables. Rows of wheels rise with the toolkit. ``asked`` are answers of ``lacking`` so far."""

    wheels: tuple[JitWheel, ...]
    features: tuple[Feature, ...]
    asked: dict[tuple[tuple[str, ...], TargetArch], tuple[Lacking, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def wheel(self, part: Part, cuda: ToolkitVersion, platform: str) -> JitWheel:
        """The wheel with that part of the toolkit (major and minor count); ``UnknownCompiler`` where is none."""
        for row in self.wheels:
            same = (row.cuda.major, row.cuda.minor) == (cuda.major, cuda.minor)
            if same and row.part is part and row.platform == platform:
                return row
        has = sorted({row.cuda for row in self.wheels if row.part is part and row.platform == platform})
        raise UnknownCompiler(
            f"no wheel has {part} of CUDA {cuda} for {platform}",
            remedy=f"write one of {', '.join(str(version) for version in has)}" if has else None,
        )

    def has(self, part: Part, cuda: ToolkitVersion, platform: str) -> bool:
        """Whether there is such a wheel; older toolkits have no part of their own for some headers."""
        same = (row for row in self.wheels if row.part is part and row.platform == platform)
        return any((row.cuda.major, row.cuda.minor) == (cuda.major, cuda.minor) for row in same)

    def used_in(self, text: str, language: FeatureLanguage) -> Iterator[Feature]:
        """Every feature that ``text`` uses, in the order of the table."""
        return (row for row in self.features if row.language is language and row.is_in(text))

    def lacking(self, instructions: tuple[str, ...], arch: TargetArch) -> tuple[Lacking, ...]:
        """Those of PTX instructions that a text for ``arch`` may not use, whichever GPU it is compiled for.

        That they are refused was measured for every row and every architecture, by ptxas 12.9 and 13.5.
        """
        key = (instructions, arch)
        if key not in self.asked:
            used = [(name, row) for name in instructions for row in self.used_in(name, FeatureLanguage.PTX)]
            self.asked[key] = tuple(Lacking(name, row) for name, row in used if not row.is_had_by(arch))
        return self.asked[key]


def jit_tables(wheels: Iterable[Row], features: Iterable[Row]) -> JitTables:
    """Build both tables; ``InconsistentTables`` for a wheel that is not pinned."""
    return JitTables(tuple(_wheel(row) for row in wheels), tuple(_feature(row) for row in features))


def _wheel(row: Row) -> JitWheel:
    built = JitWheel(
        Part(row["part"]),
        ToolkitVersion(row["cuda"]),
        row["platform"],
        row["package"],
        row["version"],
        row["filename"],
        row["sha256"],
    )
    fits = built.version.startswith(f"{row['cuda']}.") and built.filename.endswith(f"{built.platform}.whl")
    if not fits or not _SHA256.fullmatch(built.sha256):
        raise InconsistentTables(f"policy table jit_wheels: {built.filename} is not pinned as {row['cuda']}")
    return built


def _feature(row: Row) -> Feature:
    first = row["first_arch"]
    if not _NUMBER.match(first):
        raise InconsistentTables(f"policy table ptx_features: {row['feature']} begins with {first!r}")
    return Feature(
        row["feature"],
        FeatureLanguage(row["language"]),
        row["pattern"],
        TargetArch.of(first, ArchKind.REAL),
        row["ptx"],
        row["example"],
    )
