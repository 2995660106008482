"""What a release says of its assets, as far as a choice between them needs it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.model.arch import TargetArch
    from pipeline.model.served import ServedGpu, Serves
    from pipeline.model.target import Flavour, Platform
    from pipeline.model.versions import DriverVersion, GlibcVersion, ToolkitVersion


class Basis(StrEnum):
    """How it is known that an asset serves a GPU, surest first."""

    PROVEN = "proven"
    REHEARSED = "rehearsed"
    INFERRED = "inferred"
    ASSUMED = "assumed"
    """GPU or driver are newer than the tables, or the release does not say: what is known of older ones was applied."""
    WAIVED = "waived"
    FAILED = "failed"

    @property
    def rank(self) -> int:
        """Its place in that order."""
        return list(Basis).index(self)


@dataclass(frozen=True, slots=True)
class Seen:
    """A board and its driver on which an asset was loaded and answered."""

    gpu: str
    driver: DriverVersion


@dataclass(frozen=True, slots=True)
class PromisedTarget:
    """A target that the release promises, and how that is known.

    ``gpu`` is empty where no board is named, ``seen`` where nothing was proven or an older version does not say where.
    """

    sm: int
    driver: DriverVersion
    basis: Basis
    gpu: str = ""
    seen: tuple[Seen, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """One asset. ``glibc`` is ``None`` where it needs none or does not say, ``serves`` where an older version wrote it.

    ``floors`` are the lowest drivers by SM that every release records for promised targets, ``None`` where no driver is
    known to do.
    """

    file: str
    sha256: str
    size: int
    lane: str
    flavour: Flavour
    platform: Platform
    toolkit: ToolkitVersion | None
    archs: tuple[TargetArch, ...]
    glibc: GlibcVersion | None
    floors: dict[int, DriverVersion | None]
    targets: tuple[PromisedTarget, ...]
    serves: Serves | None

    def recorded(self, sm: int) -> ServedGpu | None:
        """What the release says of this GPU; ``None``: nothing."""
        rows = self.serves.gpus if self.serves is not None else ()
        return next((row for row in rows if row.sm == sm), None)


@dataclass(frozen=True, slots=True)
class Release:
    """The assets of one source, which is named as it was given."""

    source: str
    assets: tuple[Asset, ...]
