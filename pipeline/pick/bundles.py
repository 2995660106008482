"""Bundles that no ``compat.json`` tells of, audited on the spot: what their bytes promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.audit.run import read_or_damage
from pipeline.audit.served import served_gpus
from pipeline.errors import CorruptInput, NothingExamined
from pipeline.model.paths import printable
from pipeline.model.target import Flavour, Platform
from pipeline.pick.asset import Asset, Release

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pipeline.formats.facts import Inventory
    from pipeline.model.arch import TargetArch
    from pipeline.policy import Policy

_PLATFORMS = {platform.value: platform for platform in Platform}
_LIBCUDA = "libcuda.so.1"


def audited(paths: Sequence[Path], source: str, policy: Policy) -> Release:
    """Read every file; those without host code for a known platform are no bundles.

    ``CorruptInput`` for a damaged one, ``NothingExamined`` where none is a bundle.
    """
    assets = tuple(asset for path in paths for asset in _assets(path, policy))
    if not assets:
        raise NothingExamined(f"{source}: no compat.json and no bundle", remedy="name the folder of a release")
    return Release(source, assets)


def _assets(path: Path, policy: Policy) -> Iterator[Asset]:
    inventory = read_or_damage(path, deep=False)
    if inventory.damage:
        raise CorruptInput(f"{printable(str(path))}: {inventory.damage[0].what}")
    machines = {elf.machine for elf in inventory.elves} & _PLATFORMS.keys()
    if len(machines) != 1:  # none, or a collection for several machines: which is its own matter
        return
    serves = served_gpus((inventory,), None, policy)
    yield Asset(
        file=printable(path.name),
        sha256=inventory.sha256,
        size=inventory.size,
        lane="",
        flavour=Flavour.CUDA if serves.gpus or _links_the_driver(inventory) else Flavour.CPU,
        platform=_PLATFORMS[machines.pop()],
        toolkit=None,
        archs=_archs(inventory),
        glibc=serves.glibc,
        floors={},
        targets=(),
        serves=serves,
    )


def _links_the_driver(inventory: Inventory) -> bool:
    return any(_LIBCUDA in elf.needed for elf in inventory.elves)


def _archs(inventory: Inventory) -> tuple[TargetArch, ...]:
    """Those that every container has: a GPU that the tables do not know needs all of the code."""
    each = [{entry.arch for entry in fatbin.entries if entry.arch} for fatbin in inventory.fatbins if fatbin.entries]
    return tuple(sorted(set.intersection(*each))) if each else ()
