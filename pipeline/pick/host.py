"""The machine that an asset is wanted for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.model.target import Platform
    from pipeline.model.versions import DriverVersion, GlibcVersion


@dataclass(frozen=True, slots=True)
class HostGpu:
    """One GPU with the driver that runs it; ``name`` is empty where only the target was given."""

    sm: int
    driver: DriverVersion
    name: str = ""

    @property
    def label(self) -> str:
        """The target it is: ``90@580.65.06``."""
        return f"{self.sm}@{self.driver}"


@dataclass(frozen=True, slots=True)
class Host:
    """A machine. ``glibc`` is ``None`` with another C library, ``notes`` say how it was read where that matters.

    ``platform`` is what the kernel calls it: one for which nothing is published fits nothing.
    """

    platform: Platform | str
    glibc: GlibcVersion | None
    gpus: tuple[HostGpu, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The part ``machine`` of the document."""
        return {
            "platform": str(self.platform),
            "glibc": str(self.glibc) if self.glibc else None,
            "gpus": [{"sm": str(gpu.sm), "driver": str(gpu.driver), "name": gpu.name or None} for gpu in self.gpus],
            "notes": list(self.notes),
        }
