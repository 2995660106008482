"""Chooses among the assets that fit, and finds the nearest of those that do not (docs/pick.md, steps 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.served import Service
from pipeline.model.target import Flavour
from pipeline.pick.fit import Need, fit

if TYPE_CHECKING:
    from pipeline.model.versions import DottedVersion
    from pipeline.pick.asset import Release
    from pipeline.pick.fit import Fit
    from pipeline.pick.host import Host

_PARTS = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """The answer: ``picked`` is ``None`` where nothing fits.

    ``fits`` are all assets, the best first. ``nearest`` is the one for want of least: where a CPU asset is picked for
    a machine with a GPU it is the nearest of those with device code, ``None`` where nothing better is to be had.
    """

    release: Release
    host: Host
    picked: Fit | None
    nearest: Fit | None
    fits: tuple[Fit, ...]


def choose(release: Release, host: Host) -> Choice:
    """Hold every asset against the machine; pure."""
    fits = [fit(asset, host) for asset in release.assets]
    fitting = sorted((each for each in fits if each.fits), key=_preference)
    others = sorted((each for each in fits if not each.fits), key=_distance)
    picked = fitting[0] if fitting else None
    return Choice(release, host, picked, _nearest(picked, others, host), (*fitting, *others))


def _nearest(picked: Fit | None, others: list[Fit], host: Host) -> Fit | None:
    if picked is None:
        return others[0] if others else None
    if picked.asset.flavour is Flavour.CUDA or not host.gpus:
        return None
    return next((each for each in others if each.asset.flavour is Flavour.CUDA), None)


def _preference(each: Fit) -> tuple[int, int, int, int, tuple[int, ...], str]:
    """Device code before none; more GPUs served; how it is known; native before compiled; the newest toolkit."""
    worst = max((gpu.basis.rank for gpu in each.served), default=0)
    compiled = sum(gpu.row.service is not Service.NATIVE for gpu in each.served)
    cpu = int(each.asset.flavour is Flavour.CPU)
    return cpu, -len(each.served), worst, compiled, _newest_first(each.asset.toolkit), each.asset.file


def _distance(each: Fit) -> tuple[int, tuple[int, ...], tuple[int, ...], bool, tuple[int, ...], str]:
    """What is missing, on the GPU that comes nearest; then the lowest driver and glibc, native code, newest toolkit."""
    host = sum(obstacle.need.weight for obstacle in each.obstacles)
    near = min(
        (
            (
                gpu.obstacle.need.weight if gpu.obstacle else 0,
                _parts(gpu.row.minimum_driver),
                gpu.row.service is not Service.NATIVE,
            )
            for gpu in each.gpus
        ),
        default=(0, (), False),
    )
    glibc = any(obstacle.need is Need.GLIBC for obstacle in each.obstacles)
    newest = _newest_first(each.asset.toolkit)
    return host + near[0], near[1], _parts(each.asset.glibc) if glibc else (), near[2], newest, each.asset.file


def _parts(version: DottedVersion | None) -> tuple[int, ...]:
    return version.key if version is not None else ()


def _newest_first(version: DottedVersion | None) -> tuple[int, ...]:
    parts = _parts(version)
    return tuple(-part for part in (*parts, *(0 for _ in range(_PARTS - len(parts)))))
