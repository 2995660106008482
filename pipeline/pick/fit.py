"""Holds one asset against one machine: pure, data in and data out (docs/pick.md, steps 1 to 3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pipeline.model.served import Service
from pipeline.model.target import Flavour
from pipeline.pick.asset import Basis
from pipeline.pick.served import served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model.served import ServedGpu
    from pipeline.pick.asset import Asset
    from pipeline.pick.host import Host, HostGpu


class Need(StrEnum):
    """What an asset asks for and a machine has not."""

    PLATFORM = "platform"
    GLIBC = "glibc"
    GPU = "gpu"
    SM = "sm"
    RETIRED = "retired"
    FAILED = "failed"
    UNRECORDED = "unrecorded"
    DRIVER = "driver"

    @property
    def weight(self) -> int:
        """How far away an asset is for want of it: what an upgrade mends is nearest."""
        near = {Need.DRIVER: 1, Need.GLIBC: 5, Need.UNRECORDED: 10, Need.RETIRED: 15, Need.PLATFORM: 100}
        return near.get(self, 20)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason why not: what the asset needs, what the machine has, what its owner can do (empty: nothing)."""

    need: Need
    needs: str
    has: str
    remedy: str

    def to_json(self) -> dict[str, Any]:
        """Its row of the document."""
        return {"need": self.need.value, "needs": self.needs, "has": self.has, "remedy": self.remedy or None}


@dataclass(frozen=True, slots=True)
class GpuFit:
    """How one GPU fares: with an obstacle, or served in a way that is known on this basis."""

    gpu: HostGpu
    row: ServedGpu
    basis: Basis
    obstacle: Obstacle | None = None

    def to_json(self) -> dict[str, Any]:
        """Its row of the document."""
        return {
            "target": self.gpu.label,
            "served": self.row.service.value if self.obstacle is None else None,
            "basis": self.basis.value if self.obstacle is None else None,
            "minimum_driver": str(self.row.minimum_driver) if self.row.minimum_driver else None,
            "obstacle": self.obstacle.to_json() if self.obstacle else None,
        }


@dataclass(frozen=True, slots=True)
class Fit:
    """One asset on one machine. ``obstacles`` are the host's; a GPU's stands with the GPU."""

    asset: Asset
    obstacles: tuple[Obstacle, ...]
    gpus: tuple[GpuFit, ...]

    @property
    def served(self) -> tuple[GpuFit, ...]:
        """The GPUs that it serves."""
        return tuple(gpu for gpu in self.gpus if gpu.obstacle is None)

    @property
    def fits(self) -> bool:
        """Whether the machine can run it, on one of its GPUs at least."""
        return not self.obstacles and (self.asset.flavour is Flavour.CPU or bool(self.served))

    @property
    def reasons(self) -> tuple[Obstacle, ...]:
        """Everything that stands in the way, each once."""
        return tuple(dict.fromkeys((*self.obstacles, *(gpu.obstacle for gpu in self.gpus if gpu.obstacle))))


def fit(asset: Asset, host: Host) -> Fit:
    """How ``asset`` fares on ``host``."""
    needs_gpu = asset.flavour is Flavour.CUDA
    gpus = tuple(_on(asset, gpu) for gpu in host.gpus) if needs_gpu else ()
    return Fit(asset, tuple(_of_the_host(asset, host)), gpus)


def _of_the_host(asset: Asset, host: Host) -> Iterator[Obstacle]:
    if asset.platform != host.platform:
        yield Obstacle(Need.PLATFORM, asset.platform.value, str(host.platform), "")
    if asset.glibc is not None and (host.glibc is None or host.glibc < asset.glibc):
        has = f"glibc {host.glibc}" if host.glibc is not None else "another C library"
        remedy = f"a system, or a container, with glibc {asset.glibc} or newer"
        yield Obstacle(Need.GLIBC, f"glibc {asset.glibc}", has, remedy)
    if asset.flavour is Flavour.CUDA and not host.gpus:
        yield Obstacle(Need.GPU, "an NVIDIA GPU and its driver", "none", "")


def _on(asset: Asset, gpu: HostGpu) -> GpuFit:
    row, recorded = served(asset, gpu.sm)
    basis = _basis(asset, gpu, row, recorded=recorded)
    return GpuFit(gpu, row, basis, _obstacle(row, basis, gpu))


def _obstacle(row: ServedGpu, basis: Basis, gpu: HostGpu) -> Obstacle | None:
    has = f"sm_{gpu.sm} with driver {gpu.driver}"
    if row.service is Service.NONE:
        return Obstacle(Need.SM, f"another GPU than sm_{gpu.sm}", has, "")
    if row.last_branch is not None and gpu.driver.branch > row.last_branch:
        older = f"install a driver of R{row.last_branch}, the last branch that runs this GPU"
        return Obstacle(Need.RETIRED, f"a driver up to R{row.last_branch} for sm_{gpu.sm}", has, older)
    if basis is Basis.FAILED:
        return Obstacle(Need.FAILED, "a driver branch on which it was not seen to fail", has, "")
    if row.minimum_driver is None:
        seen = basis in {Basis.PROVEN, Basis.REHEARSED}
        return None if seen else Obstacle(Need.UNRECORDED, "a GPU that the release tells of", has, "")
    if gpu.driver < row.minimum_driver:
        upgrade = f"upgrade the driver to {row.minimum_driver} or newer"
        if row.last_branch is not None:
            upgrade += f", up to R{row.last_branch}"
        return Obstacle(Need.DRIVER, f"driver {row.minimum_driver} for sm_{gpu.sm}", has, upgrade)
    return None


def _basis(asset: Asset, gpu: HostGpu, row: ServedGpu, *, recorded: bool) -> Basis:
    """What was seen of this GPU on this driver branch, or else what the release's tables infer.

    A proof holds for its whole branch from the asset's lowest driver up: nothing that it needs begins between. Where
    that is not known it holds from the driver that was promised.
    """
    promised = [
        target.basis
        for target in asset.targets
        if target.sm == gpu.sm
        and target.driver.branch == gpu.driver.branch
        and (row.minimum_driver is not None or target.driver <= gpu.driver)
    ]
    if Basis.FAILED in promised:
        return Basis.FAILED
    surest = min(promised, key=lambda basis: basis.rank, default=Basis.ASSUMED)
    if surest is not Basis.ASSUMED:
        return surest
    newer = asset.serves is not None and gpu.driver.branch > asset.serves.newest_branch
    return Basis.INFERRED if recorded and not newer else Basis.ASSUMED
