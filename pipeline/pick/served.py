"""How an asset serves a GPU: as the release recorded it, or else by its architectures (docs/pick.md, step 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.model.arch import ArchKind, ArchSuffix
from pipeline.model.served import ServedGpu, Service

if TYPE_CHECKING:
    from pipeline.model.arch import TargetArch
    from pipeline.model.versions import DriverVersion
    from pipeline.pick.asset import Asset

INTEGRATED = frozenset((53, 62, 72, 87, 88, 101, 110))
"""SM numbers of integrated GPUs (Tegra), as the policy table ``architectures`` has them: a test compares."""


def served(asset: Asset, sm: int) -> tuple[ServedGpu, bool]:
    """The row of a GPU, and whether the release has it; where not, it is made of the nearest that is known."""
    row = asset.recorded(sm)
    return (row, True) if row is not None else (_unlisted(asset, sm), sm in asset.floors)


def _unlisted(asset: Asset, sm: int) -> ServedGpu:
    """A GPU newer than the tables, or a release that recorded promised targets only."""
    service = _by_architecture(asset.archs, sm)
    if sm in asset.floors:
        driver = asset.floors[sm]
        unclear = Service.NATIVE if service is Service.NONE else service  # declared less than there is
        return _row(sm, Service.UNKNOWN if driver is None else unclear, driver)
    return _row(sm, service, None if service is Service.NONE else _highest_floor(asset, service))


def _row(sm: int, service: Service, driver: DriverVersion | None) -> ServedGpu:
    return ServedGpu(sm, service, driver, "recorded", None, sm in INTEGRATED)


def _by_architecture(archs: tuple[TargetArch, ...], sm: int) -> Service:
    """CUDA's rules of compatibility: machine code inside a major, upwards; PTX upwards; suffixes stay where they are.

    The family of an ``f`` is not known here, so that it counts for its own number alone.
    """
    fitting = {arch.kind for arch in archs if _runs(arch, sm)}
    if ArchKind.REAL in fitting:
        return Service.NATIVE
    return Service.JIT if fitting else Service.NONE


def _runs(arch: TargetArch, sm: int) -> bool:
    if arch.number == sm:
        return True
    if arch.suffix is not ArchSuffix.NONE or arch.number > sm:
        return False
    crosses = arch.number in INTEGRATED or sm in INTEGRATED
    return arch.kind is ArchKind.VIRTUAL or (arch.major == sm // 10 and not crosses)


def _highest_floor(asset: Asset, service: Service) -> DriverVersion | None:
    """The highest driver that GPUs served in this way need; of all where there is none."""
    rows = asset.serves.gpus if asset.serves is not None else ()
    same = [row.minimum_driver for row in rows if row.service is service and row.minimum_driver is not None]
    every = [row.minimum_driver for row in rows if row.minimum_driver is not None]
    recorded = [driver for driver in asset.floors.values() if driver is not None]
    return max(same or every or recorded, default=None)
