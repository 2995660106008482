"""Reads artifacts, on all cores when there are several, and audits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.audit.judge import audit_artifacts
from pipeline.audit.wheel import requirements_of
from pipeline.errors import CorruptInput, UsageError
from pipeline.formats.facts import Damage, Inventory
from pipeline.inventory import take_inventory
from pipeline.model.paths import MemberPath

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.audit.report import AuditReport
    from pipeline.model.lane import Target
    from pipeline.policy import Policy
    from pipeline.rules.declaration import Declaration, HostFloor


def run_audit(
    paths: Sequence[Path],
    targets: Sequence[Target],
    policy: Policy,
    *,
    declaration: Declaration | None = None,
    host: HostFloor | None = None,
    deep: bool = False,
    kernels: bool = False,
    workers: int = 1,
) -> AuditReport:
    """Audit files or folders; ``UsageError`` where one does not exist.

    Without ``targets`` those of the declaration are judged, without ``host`` the declaration's. Several paths are
    read by up to ``workers`` processes.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", remedy="name a file or a folder")
    inventories = _read_all(paths, deep=deep, kernels=kernels, workers=min(workers, len(paths)))
    if declaration is not None:
        targets = targets or declaration.targets
        host = host or declaration.host
    requirements = tuple(dict.fromkeys(name for path in paths for name in requirements_of(path)))
    return audit_artifacts(inventories, targets, declaration, host, policy, requirements=requirements)


def _read_all(paths: Sequence[Path], *, deep: bool, kernels: bool, workers: int) -> list[Inventory]:
    if workers < 2:
        return [read_or_damage(path, deep=deep, kernels=kernels) for path in paths]
    from concurrent.futures import ProcessPoolExecutor
    from functools import partial

    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(partial(read_or_damage, deep=deep, kernels=kernels), paths))


def read_or_damage(path: Path, *, deep: bool, kernels: bool = False) -> Inventory:
    """The inventory of an artifact; one that could not be read at all is an inventory of nothing but its damage."""
    try:
        return take_inventory(path, deep=deep, kernels=kernels)
    except CorruptInput as error:
        return Inventory(
            root=str(path),
            format="data",
            sha256="",
            size=path.stat().st_size,
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
