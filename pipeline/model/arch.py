"""GPU architectures: what images are for, what GPUs are, and which image a GPU can take.

The loading rules live here and nowhere else. Sources: CUDA C++ Programming Guide, "Binary Compatibility"
and "Feature availability"; NVCC manual 13.0, "GPU Feature List"; measured on an H200 with driver 580.159.04.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

_NAME = re.compile(r"(?P<number>[1-9][0-9]{1,2})(?P<suffix>[af]?)", re.ASCII)


class ArchKind(StrEnum):
    """Real architectures are machine code (``sm_``), virtual ones PTX (``compute_``)."""

    REAL = "real"
    VIRTUAL = "virtual"


class ArchSuffix(StrEnum):
    """Nothing, ``a`` (this exact GPU) or ``f`` (this family)."""

    NONE = ""
    SPECIFIC = "a"
    FAMILY = "f"


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU generation as the driver sees it; built from the policy table, which knows the family.

    ``family`` is the tuple of SM numbers that share family-specific features with this one, itself included;
    ``tegra`` marks integrated GPUs whose cubins do not cross to or from discrete ones.
    """

    number: int
    family: tuple[int, ...]
    tegra: bool

    @property
    def major(self) -> int:
        """Compute capability, major: 9 for 90."""
        return self.number // 10

    @property
    def minor(self) -> int:
        """Compute capability, minor: 0 for 90."""
        return self.number % 10

    def __str__(self) -> str:
        return f"sm_{self.number}"


@dataclass(frozen=True, slots=True, order=True)
class TargetArch:
    """One architecture that an image is compiled for: ``sm_90a``, ``compute_120f``."""

    number: int
    suffix: ArchSuffix
    kind: ArchKind

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``sm_90a`` or ``compute_90``; ``ValueError`` otherwise."""
        prefix, _, name = text.partition("_")
        kind = {"sm": ArchKind.REAL, "compute": ArchKind.VIRTUAL}.get(prefix)
        if kind is None:
            raise ValueError(f"{text!r} is neither sm_NN nor compute_NN")
        return cls.of(name, kind)

    @classmethod
    def of(cls, name: str, kind: ArchKind) -> Self:
        """Build from the bare name (``90``, ``90a``) and the kind; ``ValueError`` if malformed."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(f"{name!r} is not an architecture (such as 80, 90a or 120f)")
        return cls(int(match["number"]), ArchSuffix(match["suffix"]), kind)

    @property
    def major(self) -> int:
        """Compute capability, major."""
        return self.number // 10

    @property
    def minor(self) -> int:
        """Compute capability, minor."""
        return self.number % 10

    @property
    def name(self) -> str:
        """The name without prefix: ``90a``."""
        return f"{self.number}{self.suffix}"

    @property
    def cmake(self) -> str:
        """The spelling of CMAKE_CUDA_ARCHITECTURES: ``90a-real``."""
        return f"{self.name}-{self.kind}"

    def runs_on(self, gpu: Gpu, *, image_tegra: bool = False) -> bool:
        """Whether ``gpu`` can execute (real) or compile (virtual) this image, drivers left aside.

        ``image_tegra`` says that the image's own SM number is an integrated GPU's.
        """
        if self.suffix is ArchSuffix.SPECIFIC:
            return gpu.number == self.number
        if self.suffix is ArchSuffix.FAMILY:
            return self.number in gpu.family and gpu.number >= self.number
        if self.kind is ArchKind.VIRTUAL:
            return gpu.number >= self.number
        if (image_tegra or gpu.tegra) and gpu.number != self.number:
            return False
        return self.major == gpu.major and self.minor <= gpu.minor

    def __str__(self) -> str:
        return f"{'sm' if self.kind is ArchKind.REAL else 'compute'}_{self.name}"
