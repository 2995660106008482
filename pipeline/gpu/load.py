"""Give every container of an artifact to this machine's driver, in three passes, and compare with what was foreseen."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.gpu.attempts import Limits
from pipeline.gpu.device import Selector, environment_for, find_device
from pipeline.gpu.greeting import NoDevice
from pipeline.gpu.lease import FOLDER, lease
from pipeline.gpu.machine import describe, kernel_module
from pipeline.gpu.passes import Passes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pipeline.gpu.greeting import DeviceFacts, Greeting
    from pipeline.gpu.machine import LoadMachine
    from pipeline.gpu.report import LoadReport
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.rules.declaration import Declaration

_READ_AGAIN = ("docker-archive", "oci-archive", "oci")
_FIRST = Selector(0, None)


def _say_nothing(_line: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """How to load. ``environment`` is this process's own.

    ``wait`` is how many seconds a device that another check holds is waited for, ``fresh`` asks for a process of its
    own for each container that fails. ``jobs`` containers are loaded at the same time: JIT takes a processor each, and
    every job three contexts on the device. ``module`` tells the kernel module's version.
    """

    environment: Mapping[str, str]
    selector: Selector = _FIRST
    limits: Limits = field(default_factory=Limits)
    wait: float = 600.0
    fresh: bool = False
    jobs: int = 1
    module: Callable[[], DriverVersion | None] = kernel_module
    locks: Path = FOLDER
    note: Callable[[str], None] = _say_nothing


def load_modules(
    path: Path, policy: Callable[[], Policy], settings: LoadSettings, *, declaration: Declaration | None = None
) -> LoadReport:
    """Load everything in ``path`` that a program would give to the driver.

    ``policy`` is asked for while the drivers start. ``UsageError`` when there is no such path, ``InfrastructureError``
    when there is no driver or GPU, or the device and not a module is at fault. A report in which nothing was observed
    is no pass.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist", remedy="name a file or a folder")
    started = time.monotonic()
    with ExitStack() as stack:
        jobs = _started(stack, settings)
        rules = policy()
        greeting, device = _chosen(jobs, settings)
        stack.enter_context(lease(device.identity, wait=settings.wait, folder=settings.locks, note=settings.note))
        for passes in jobs:
            passes.use(device.index)
        machine = describe(greeting, device, settings.module())
        report = _loaded(stack, jobs, path, machine, policy=rules, declaration=declaration)
        return replace(report, seconds=time.monotonic() - started)


def _loaded(
    stack: ExitStack,
    jobs: tuple[Passes, ...],
    path: Path,
    machine: LoadMachine,
    *,
    policy: Policy,
    declaration: Declaration | None,
) -> LoadReport:
    """Foresee, load and compare, while the contexts are being made."""
    from concurrent.futures import ThreadPoolExecutor

    from pipeline.gpu.forecast import Forecaster
    from pipeline.gpu.loading import Loading
    from pipeline.gpu.report import LoadReport
    from pipeline.inventory import take_inventory
    from pipeline.model.lane import Target

    inventory = take_inventory(path)
    is_image = any(str(image.path) == inventory.root for image in inventory.images)
    if is_image and inventory.format not in _READ_AGAIN:
        raise UsageError(
            f"{path}: a compressed image archive is not read a second time", remedy="unpack it to a .tar and name that"
        )
    forecaster = Forecaster.of(inventory, Target(machine.sm, machine.driver), policy, declaration)
    containers = tuple(forecaster.containers(inventory))
    pool = stack.enter_context(ThreadPoolExecutor(4 * len(jobs)))
    for passes in jobs:
        passes.prepare(containers)
        stack.callback(passes.stop)  # before the pool is left: no thread must wait for a worker then
    return LoadReport(
        artifact=str(path),
        sha256=inventory.sha256,
        size=inventory.size,
        format=inventory.format,
        machine=machine,
        observed=Loading(forecaster, jobs, pool).run(path, inventory, containers),
        left_out=tuple(item for item in containers if not item.role.is_loaded),
        damage=inventory.damage,
        policy_date=policy.date,
        seconds=0.0,
    )


def _started(stack: ExitStack, settings: LoadSettings) -> tuple[Passes, ...]:
    """Every worker, all starting the driver at the same time."""
    environment = environment_for(settings.selector, settings.environment)
    jobs: list[Passes] = []
    for _ in range(settings.jobs):
        passes = Passes.started(environment, settings.limits, fresh=settings.fresh)
        stack.callback(passes.end)
        jobs.append(passes)
    return tuple(jobs)


def _chosen(jobs: tuple[Passes, ...], settings: LoadSettings) -> tuple[Greeting, DeviceFacts]:
    """The device that was asked for, as all workers see it."""
    try:
        greeting, *_ = [passes.greeting() for passes in jobs]
    except NoDevice as error:
        if settings.selector.uuid is None:
            raise
        raise NoDevice(
            f"--device {settings.selector}: the driver shows no such device", remedy="nvidia-smi -L lists them"
        ) from error
    return greeting, find_device(settings.selector, greeting.devices)
