"""Reads artifacts, on all cores when there are several, and audits them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.audit.aims import aim_at
from pipeline.audit.judge import audit_artifacts, units_in
from pipeline.audit.wheel import requirements_of
from pipeline.errors import CorruptInput, UsageError
from pipeline.formats.facts import Damage, Inventory
from pipeline.inventory import take_inventory
from pipeline.inventory.lock_files import may_be_lock
from pipeline.model.paths import MemberPath
from pipeline.rules.registry import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.audit.report import AuditReport
    from pipeline.inventory.lock_files import ReadLock
    from pipeline.inventory.memory import CachePlace, Memory
    from pipeline.inventory.source import Source
    from pipeline.model.lane import Target
    from pipeline.policy import Policy
    from pipeline.rules.assembly import Rehearsal
    from pipeline.rules.declaration import Declaration, HostFloor
    from pipeline.rules.registry import Rule
    from pipeline.rules.subject import Aim

    Artifacts = tuple[tuple[Path | Source, Inventory], ...]
    Rehearse = Callable[[Artifacts, tuple[Aim, ...]], Rehearsal]


def run_audit(
    paths: Sequence[Path | Source],
    targets: Sequence[Target],
    policy: Policy,
    *,
    declaration: Declaration | None = None,
    host: HostFloor | None = None,
    deep: bool = False,
    kernels: bool = False,
    workers: int = 1,
    rehearse: Rehearse | None = None,
    rules: tuple[Rule, ...] = RULES,
    cache: CachePlace | None = None,
    lock: ReadLock | None = None,
    every_gpu: bool = False,
) -> AuditReport:
    """Audit files, folders or images; ``UsageError`` where one does not exist.

    Of an image for several platforms the declaration's is judged, or else this machine's. Without ``targets`` those of
    the declaration are judged, without ``host`` the declaration's. Up to ``workers`` processes read several paths.
    ``rehearse`` assembles the PTX that a target's driver would compile, ``cache`` knows files of folders from earlier
    looks, ``lock`` resolves lock files, which are files like any other without it; ``rules`` are those that judge.
    ``every_gpu`` says of each GPU generation of the tables how it is served, whoever asked for it or not.
    """
    for path in paths:
        if isinstance(path, Path) and not path.exists():
            raise UsageError(f"{path} does not exist", remedy="name a file or a folder")
    machine = declaration.platform.value if declaration is not None and declaration.platform is not None else ""
    read = partial(read_or_damage, deep=deep, kernels=kernels, machine=machine, cache=cache, lock=lock)
    inventories = _read_all(paths, read, workers=min(workers, len(paths)))
    if declaration is not None:
        targets = targets or declaration.targets
        host = host or declaration.host
    requirements = tuple(
        dict.fromkeys(name for path in paths if isinstance(path, Path) for name in requirements_of(path))
    )
    rehearsal = None
    if rehearse is not None:
        aims = tuple(aim_at(target, units_in(inventories).loaded, declaration, policy) for target in targets)
        rehearsal = rehearse(tuple(zip(paths, inventories, strict=True)), aims)
    report = audit_artifacts(
        inventories, targets, declaration, host, policy, requirements=requirements, rehearsal=rehearsal, rules=rules
    )
    if not every_gpu:
        return report
    from pipeline.audit.served import served_gpus  # most audits are about named targets

    return replace(report, serves=served_gpus(inventories, declaration, policy))


def _read_all(
    paths: Sequence[Path | Source], read: Callable[[Path | Source], Inventory], *, workers: int
) -> list[Inventory]:
    if workers < 2:
        return [read(path) for path in paths]
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(read, paths))


def read_or_damage(
    path: Path | Source,
    *,
    deep: bool,
    kernels: bool = False,
    machine: str = "",
    cache: CachePlace | None = None,
    lock: ReadLock | None = None,
) -> Inventory:
    """The inventory of an artifact; one that could not be read at all is an inventory of nothing but its damage."""
    try:
        if lock is not None and isinstance(path, Path) and may_be_lock(path):
            return lock(path, deep=deep, kernels=kernels)
        memory = _memory(path, cache) if not deep and not kernels else None
        return take_inventory(path, deep=deep, kernels=kernels, machine=machine, memory=memory)
    except CorruptInput as error:
        return Inventory(
            root=str(path),
            format="data",
            sha256="",
            size=path.stat().st_size if isinstance(path, Path) else 0,
            members=1,
            elves=(),
            fatbins=(),
            bare=(),
            opaque=(),
            damage=(Damage(MemberPath((str(path),)), error.message),),
            links={},
            deep=deep,
            files={},
            kernels=kernels,
        )


def _memory(path: Path | Source, cache: CachePlace | None) -> Memory | None:
    if cache is None or not isinstance(path, Path) or not path.is_dir():
        return None
    from pipeline.environments.cache import FactsCache  # a file needs none

    return FactsCache(cache, path)
