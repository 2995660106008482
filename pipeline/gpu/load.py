"""Give every container of an artifact to this machine's driver, in three passes, and compare with what was foreseen."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.gpu.device import environment_for
from pipeline.gpu.fault import PassingFault
from pipeline.gpu.passes import VARIABLES, Passes

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor
    from pathlib import Path

    from pipeline.formats.facts import Inventory
    from pipeline.gpu.handshake import Handshake
    from pipeline.gpu.report import LoadReport
    from pipeline.gpu.settings import LoadSettings
    from pipeline.policy import Policy
    from pipeline.rules.declaration import Declaration

_READ_AGAIN = ("docker-archive", "oci-archive", "oci")


def load_modules(
    path: Path, policy: Callable[[], Policy], settings: LoadSettings, *, declaration: Declaration | None = None
) -> LoadReport:
    """Load everything in ``path`` that a program would give to the driver.

    ``policy`` is asked for while the drivers start. ``UsageError`` when there is no such path, ``InfrastructureError``
    when there is no driver or GPU, or the device and not a module is at fault. What may be over soon, such as a card
    whose memory others use, is waited for and tried again, ``pauses`` of the settings long; never a module that failed.
    A report in which nothing was observed is no pass.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist", remedy="name a file or a folder")
    faults: list[str] = []
    for pause in settings.pauses:
        try:
            return replace(_load_once(path, policy, settings, declaration), faults=tuple(faults))
        except PassingFault as error:
            faults.append(error.message)
            settings.note(f"{error.message}; trying again in {pause:g} s")
            time.sleep(pause)
    return replace(_load_once(path, policy, settings, declaration), faults=tuple(faults))


def _load_once(
    path: Path, policy: Callable[[], Policy], settings: LoadSettings, declaration: Declaration | None
) -> LoadReport:
    started = time.monotonic()
    with ExitStack() as lease, ExitStack() as stack:  # the device is given back when the workers have ended
        jobs = _started(stack, settings)
        # The drivers start meanwhile.
        from concurrent.futures import ThreadPoolExecutor

        from pipeline.gpu.handshake import Handshake

        pool = stack.enter_context(ThreadPoolExecutor(len(VARIABLES) * len(jobs) + 1))
        handshake = Handshake(pool, jobs, settings, lease)
        stack.callback(handshake.end)
        stack.callback(_stop, jobs)  # before anything else ends: no thread must wait for a worker then
        report = _loaded(path, handshake, pool, policy=policy, declaration=declaration)
    return replace(report, seconds=time.monotonic() - started)


def _loaded(
    path: Path,
    handshake: Handshake,
    pool: Executor,
    *,
    policy: Callable[[], Policy],
    declaration: Declaration | None,
) -> LoadReport:
    """Read and foresee while the drivers start, then load and compare."""
    from pipeline.gpu.forecast import Forecaster
    from pipeline.gpu.loading import Loading
    from pipeline.gpu.report import LoadReport
    from pipeline.model.lane import Target

    rules = policy()
    inventory = _read(path, handshake)
    machine = handshake.machine()
    forecaster = Forecaster.of(inventory, Target(machine.sm, machine.driver), rules, declaration)
    containers = tuple(forecaster.containers(inventory))
    for passes in handshake.jobs:
        passes.prepare(containers)
    return LoadReport(
        artifact=str(path),
        sha256=inventory.sha256,
        size=inventory.size,
        format=inventory.format,
        machine=machine,
        observed=Loading(forecaster, handshake.jobs, pool).run(path, inventory, containers),
        left_out=tuple(item for item in containers if not item.role.is_loaded),
        damage=inventory.damage,
        policy_date=rules.date,
        seconds=0.0,
    )


def _read(path: Path, handshake: Handshake) -> Inventory:
    """What is in the artifact, unless it is known by now that nothing can load it."""
    from pipeline.inventory import take_inventory

    handshake.check()
    inventory = take_inventory(path)
    is_image = any(str(image.path) == inventory.root for image in inventory.images)
    if is_image and inventory.format not in _READ_AGAIN:
        raise UsageError(
            f"{path}: a compressed image archive is not read a second time", remedy="unpack it to a .tar and name that"
        )
    return inventory


def _started(stack: ExitStack, settings: LoadSettings) -> tuple[Passes, ...]:
    """Every worker, all starting the driver at the same time."""
    environment = environment_for(settings.selector, settings.environment)
    jobs: list[Passes] = []
    for _ in range(settings.jobs):
        passes = Passes.started(environment, settings.limits, fresh=settings.fresh)
        stack.callback(passes.end)
        jobs.append(passes)
    return tuple(jobs)


def _stop(jobs: tuple[Passes, ...]) -> None:
    """All at once: what a driver does when its process ends takes long, and is waited for afterwards."""
    for passes in jobs:
        passes.stop()
