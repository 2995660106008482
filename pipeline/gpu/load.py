"""Give every container of an artifact to this machine's driver, in three passes, and compare with what was foreseen."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING

from pipeline.gpu.attempts import Limits
from pipeline.gpu.containers import Pieces, pour
from pipeline.gpu.device import Selector, environment_for, find_device
from pipeline.gpu.forecast import Forecaster
from pipeline.gpu.greeting import NoDevice
from pipeline.gpu.lease import FOLDER, lease
from pipeline.gpu.machine import describe, kernel_module
from pipeline.gpu.passes import Passes
from pipeline.gpu.report import LoadReport, Observed
from pipeline.inventory import take_inventory
from pipeline.model.lane import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pipeline.formats.facts import Inventory
    from pipeline.gpu.forecast import Container
    from pipeline.gpu.greeting import DeviceFacts, Greeting
    from pipeline.model.paths import MemberPath
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.rules.declaration import Declaration

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
    path: Path, policy: Policy, settings: LoadSettings, *, declaration: Declaration | None = None
) -> LoadReport:
    """Load everything in ``path`` that a program would give to the driver.

    ``UsageError`` when there is no such path, ``InfrastructureError`` when there is no driver or GPU, or the device
    and not a module is at fault. A report in which nothing was observed is no pass.
    """
    started = time.monotonic()
    with ExitStack() as stack:
        jobs = _started(stack, settings)
        greeting, device = _chosen(jobs, settings)
        stack.enter_context(lease(device.identity, wait=settings.wait, folder=settings.locks, note=settings.note))
        for passes in jobs:
            passes.use(device.index)
        machine = describe(greeting, device, settings.module())
        inventory = take_inventory(path)
        forecaster = Forecaster.of(inventory, Target(machine.sm, machine.driver), policy, declaration)
        containers = tuple(forecaster.containers(inventory))
        observed = _Loading(forecaster, jobs, _pool(stack, jobs)).run(path, inventory, containers)
        return LoadReport(
            artifact=str(path),
            sha256=inventory.sha256,
            size=inventory.size,
            format=inventory.format,
            machine=machine,
            observed=observed,
            left_out=tuple(item for item in containers if not item.role.is_loaded),
            damage=inventory.damage,
            policy_date=policy.date,
            seconds=time.monotonic() - started,
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


def _pool(stack: ExitStack, jobs: tuple[Passes, ...]) -> ThreadPoolExecutor:
    """Threads for every job and its passes. On the way out the workers are killed first, so that no thread waits."""
    pool = stack.enter_context(ThreadPoolExecutor(4 * len(jobs)))
    for passes in jobs:
        stack.callback(passes.stop)
    return pool


class _Loading:
    """Containers go to the next free job, in the order in which they lie; the next one is read meanwhile."""

    def __init__(self, forecaster: Forecaster, jobs: tuple[Passes, ...], pool: ThreadPoolExecutor) -> None:
        self._forecaster = forecaster
        self._pool = pool
        self._free: SimpleQueue[Passes] = SimpleQueue()
        for passes in jobs:
            self._free.put(passes)
        self._under_way: deque[Future[Observed]] = deque()
        self._observed: list[Observed] = []

    def run(self, path: Path, inventory: Inventory, containers: tuple[Container, ...]) -> tuple[Observed, ...]:
        """Load everything that is to be loaded."""
        wanted = {item.path: item for item in containers if item.role.is_loaded}
        pieces = Pieces.of(
            (fatbin for fatbin in inventory.fatbins if fatbin.path in wanted),
            (image for image in inventory.bare if image.path in wanted),
        )

        def give(place: MemberPath, image: bytes) -> None:
            passes = self._free.get()
            self._under_way.append(self._pool.submit(self._load, passes, wanted[place], image))
            self._collect()

        if pieces.count:
            pour(path, pieces, give)
        wait(self._under_way, return_when=FIRST_EXCEPTION)
        self._collect()
        return tuple(self._observed)

    def _load(self, passes: Passes, container: Container, image: bytes) -> Observed:
        try:
            return passes.load(container, image, self._forecaster, self._pool)
        finally:
            self._free.put(passes)

    def _collect(self) -> None:
        """Take what is done, in order; the error of any container ends the load here."""
        for future in self._under_way:
            if future.done() and (error := future.exception()) is not None:
                raise error
        while self._under_way and self._under_way[0].done():
            self._observed.append(self._under_way.popleft().result())
