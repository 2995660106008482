"""Partial coverage in an artifact: containers that lack GPUs which others serve, images that lack kernels."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.audit.aims import aim_at
from pipeline.inventory import take_inventory
from pipeline.model.lane import Target
from pipeline.rules.kernel_missing import gaps
from pipeline.rules.kernel_view import contents_by_path, served
from pipeline.rules.subject import Subject
from pipeline.rules.unit import units_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipeline.formats.facts import Inventory
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.policy.rows import GpuRow
    from pipeline.rules.subject import Aim, Load

OLDEST = 50


@dataclass(frozen=True, slots=True)
class Part:
    """Containers of one library that lack the same GPUs: which ones, and on which of those that is excused."""

    library: str
    containers: int
    of: int
    archs: str
    missing: tuple[int, ...]
    excused: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "library": self.library,
            "containers": self.containers,
            "of": self.of,
            "archs": self.archs,
            "missing": list(self.missing),
            "by_design": list(self.excused),
        }


def measured(path: Path, policy: Policy) -> dict[str, Any]:
    """Every partial coverage of an artifact."""
    inventory = take_inventory(path, kernels=True, sha256="0")
    aims = [_aim(row, inventory, policy) for row in policy.gpus if row.gpu.number >= OLDEST and not row.gpu.tegra]
    return {
        "containers": sum(unit.count for unit in units_of(inventory).loaded),
        "libraries": len({unit.library for unit in units_of(inventory).loaded}),
        "parts": [part.to_json() for part in parts(aims)],
        "kernels": list(_kernel_gaps(inventory, aims, policy)),
    }


def _aim(row: GpuRow, inventory: Inventory, policy: Policy) -> Aim:
    return aim_at(Target(row.gpu.number, _newest(row, policy)), units_of(inventory).loaded, None, policy)


def _newest(row: GpuRow, policy: Policy) -> DriverVersion:
    """The newest driver that serves the GPU, so that only architectures are missing."""
    known = (branch for branch in policy.branches if branch.first_driver is not None)
    fitting = [branch.first_driver for branch in known if row.last_branch is None or branch.number <= row.last_branch]
    assert fitting[-1] is not None
    return fitting[-1]


def parts(aims: Iterable[Aim]) -> Iterator[Part]:
    """Groups of containers that lack GPUs which some other container of the artifact serves."""
    states: dict[Any, dict[int, Load]] = defaultdict(dict)
    for aim in aims:
        for load in aim.loads:
            states[load.unit.path][aim.target.sm] = load
    promised = {sm for loads in states.values() for sm, load in loads.items() if load.selection.loads}
    groups: dict[tuple[str, tuple[int, ...], tuple[int, ...]], list[Load]] = defaultdict(list)
    totals: dict[str, int] = defaultdict(int)
    for loads in states.values():
        first = next(iter(loads.values()))
        library = "!/".join(first.unit.library.parts[1:]) or first.unit.library.name
        totals[library] += first.unit.count
        missing = tuple(sm for sm in sorted(promised) if not loads[sm].selection.loads)
        excused = tuple(sm for sm in missing if loads[sm].excused)
        groups[library, missing, excused].append(first)
    for (library, missing, excused), found in sorted(groups.items()):
        if missing:
            archs = " | ".join(dict.fromkeys(_archs(load) for load in found))
            yield Part(library, sum(load.unit.count for load in found), totals[library], archs, missing, excused)


def _archs(load: Load) -> str:
    return " ".join(dict.fromkeys(str(image.arch) for image in load.unit.images if image.arch is not None))


def _kernel_gaps(inventory: Inventory, aims: list[Aim], policy: Policy) -> Iterator[dict[str, Any]]:
    """Kernels that images lack, once for each image and group."""
    subject = Subject(inventories=(inventory,), device=units_of(inventory), aims=tuple(aims), policy=policy)
    contents = contents_by_path(subject)
    found: dict[tuple[str, str, tuple[str, ...]], dict[str, Any]] = {}
    for aim in aims:
        for container in served(aim, contents):
            for missing in gaps(container):
                library = "!/".join(container.load.unit.library.parts[1:])
                key = (str(container.path), container.chosen.image.what, missing.groups)
                row = found.setdefault(
                    key,
                    {
                        "library": library,
                        "image": container.chosen.image.what,
                        "kernels": missing.count,
                        "groups": list(missing.groups),
                        "holders": list(missing.holders),
                        "told_as": missing.gap.value,
                        "gpus": [],
                    },
                )
                row["gpus"].append(aim.target.sm)
    yield from found.values()
