"""How the device code fares on every GPU generation of the tables, beyond the targets that a lane promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.audit.aims import loads_on
from pipeline.audit.floors import UNKNOWN, minimum_driver
from pipeline.model.served import ServedGpu, Serves, Service
from pipeline.model.versions import DriverVersion, GlibcVersion
from pipeline.rules.choice import Via
from pipeline.rules.symbol_versions import GLIBC, highest_of_all
from pipeline.rules.unit import units_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.formats.facts import Inventory
    from pipeline.policy import Policy
    from pipeline.policy.rows import GpuRow
    from pipeline.rules.declaration import Declaration
    from pipeline.rules.unit import Unit

_C_LIBRARY = "libc.so.6"


def served_gpus(inventories: Sequence[Inventory], declaration: Declaration | None, policy: Policy) -> Serves:
    """Judge all device code together on each GPU; pure. Without device code there is no row."""
    units = tuple(unit for inventory in inventories for unit in units_of(inventory).loaded)
    rows = served_by(units, declaration, policy)
    return Serves(policy.date, policy.branches[-1].number, _glibc(inventories), rows)


def served_by(units: tuple[Unit, ...], declaration: Declaration | None, policy: Policy) -> tuple[ServedGpu, ...]:
    """A row for each GPU of the tables; none without device code."""
    return tuple(_served(row, units, declaration, policy) for row in policy.gpus) if units else ()


def _served(row: GpuRow, units: tuple[Unit, ...], declaration: Declaration | None, policy: Policy) -> ServedGpu:
    floor = minimum_driver(row.gpu.number, units, declaration, policy)
    driver = DriverVersion(floor.driver) if floor.driver else None
    service = Service.UNKNOWN if floor.reason == UNKNOWN else Service.NONE
    if driver is not None:
        asked = [load for load in loads_on(units, row.gpu, driver, declaration, policy) if not load.excused]
        compiled = any(load.selection.via is Via.JIT for load in asked)
        # A GPU for which every container is absent by design runs none of this code.
        service = Service.JIT if compiled else Service.NATIVE if asked else Service.NONE
    if service is Service.NONE:
        driver = None
    return ServedGpu(row.gpu.number, service, driver, floor.reason, row.last_branch, row.gpu.tegra)


def _glibc(inventories: Sequence[Inventory]) -> GlibcVersion | None:
    elves = [elf for inventory in inventories for elf in inventory.elves]
    if any(elf.soname == _C_LIBRARY for elf in elves):
        return None
    found = highest_of_all(elves).get(GLIBC)
    return GlibcVersion(str(found)) if found is not None else None
