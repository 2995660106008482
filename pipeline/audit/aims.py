"""Plays the driver: how every unit fares on every target."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.policy.unknown import OutsidePolicy
from pipeline.rules import driver_retired, driver_too_old_for_gpu
from pipeline.rules.by_design import excuse
from pipeline.rules.choice import JitPass
from pipeline.rules.selection import select
from pipeline.rules.subject import Aim, Load
from pipeline.rules.variants import excuse_variants, set_aside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.model.arch import Gpu
    from pipeline.model.lane import Target
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.rules.declaration import Declaration
    from pipeline.rules.unit import Unit


def aim_at(target: Target, units: Iterable[Unit], declaration: Declaration | None, policy: Policy) -> Aim:
    """Everything that the tables say about a target and these units."""
    try:
        gpu = policy.gpu(target.sm)
        policy.branch(target.driver)
        unserved = driver_retired.obstacle(target, policy) or driver_too_old_for_gpu.obstacle(target, policy)
    except OutsidePolicy as error:
        return Aim(target, None, doubt=error.message)
    if unserved is not None:
        return Aim(target, gpu, unserved=unserved)
    loads = _plain_loads(units, gpu, target.driver, declaration, policy)
    aside = set_aside(loads)
    return Aim(target, gpu, excuse_variants(loads, aside), set_aside=aside)


def loads_on(
    units: Iterable[Unit], gpu: Gpu, driver: DriverVersion, declaration: Declaration | None, policy: Policy
) -> tuple[Load, ...]:
    """How the units fare on a GPU with a driver; what is absent by design or served by another variant is excused."""
    loads = _plain_loads(units, gpu, driver, declaration, policy)
    return excuse_variants(loads, set_aside(loads))


def _plain_loads(
    units: Iterable[Unit], gpu: Gpu, driver: DriverVersion, declaration: Declaration | None, policy: Policy
) -> tuple[Load, ...]:
    plain = (Load(unit, select(unit, gpu, driver, JitPass.AS_IS, policy)) for unit in units)
    return excuse(plain, declaration)


def replay(aim: Aim, jit: JitPass, policy: Policy) -> tuple[Load, ...]:
    """The same loads under another JIT setting; what was excused stays so."""
    if aim.gpu is None:
        return ()
    return tuple(
        replace(load, selection=select(load.unit, aim.gpu, aim.target.driver, jit, policy)) for load in aim.loads
    )
