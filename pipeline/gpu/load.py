"""Give every container of an artifact to this machine's driver, in three passes, and compare with what was foreseen."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.gpu.attempts import Attempts, Limits
from pipeline.gpu.containers import Pieces, pour
from pipeline.gpu.device import Selector, environment_for, find_device
from pipeline.gpu.forecast import Forecaster
from pipeline.gpu.greeting import NoDevice
from pipeline.gpu.lease import FOLDER, lease
from pipeline.gpu.machine import describe, kernel_module
from pipeline.gpu.report import LoadReport, Observed
from pipeline.inventory import take_inventory
from pipeline.model.lane import Target
from pipeline.rules.selection import JitPass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pipeline.formats.facts import Inventory
    from pipeline.gpu.answer import Answer
    from pipeline.gpu.forecast import Container
    from pipeline.gpu.greeting import DeviceFacts, Greeting
    from pipeline.model.paths import MemberPath
    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.rules.declaration import Declaration

_FIRST = Selector(0, None)
# What a caller's own variables must not decide.
_OURS = ("CUDA_DISABLE_PTX_JIT", "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_JIT", "CUDA_FORCE_JIT", "CUDA_LAUNCH_BLOCKING")
# The cache is off in every pass: a hit would hide the JIT and its time, and our modules would push out the user's.
_ALWAYS = {"CUDA_MODULE_LOADING": "EAGER", "CUDA_CACHE_DISABLE": "1"}
_PASSES: dict[JitPass, dict[str, str]] = {
    JitPass.AS_IS: {},
    JitPass.FORBIDDEN: {"CUDA_DISABLE_PTX_JIT": "1"},
    JitPass.FORCED: {"CUDA_FORCE_PTX_JIT": "1"},
}


def _say_nothing(_line: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """How to load. ``environment`` is this process's own.

    ``wait`` is how many seconds a device that another check holds is waited for, ``fresh`` asks for a process of its
    own for each container that fails. ``module`` tells the kernel module's version.
    """

    environment: Mapping[str, str]
    selector: Selector = _FIRST
    limits: Limits = field(default_factory=Limits)
    wait: float = 600.0
    fresh: bool = False
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
        passes = _started(stack, settings)
        greeting, device = _chosen(passes, settings)
        stack.enter_context(lease(device.identity, wait=settings.wait, folder=settings.locks, note=settings.note))
        for attempts in passes.values():
            attempts.use(device.index)
        machine = describe(greeting, device, settings.module())
        inventory = take_inventory(path)
        forecaster = Forecaster.of(inventory, Target(machine.sm, machine.driver), policy, declaration)
        containers = tuple(forecaster.containers(inventory))
        loading = _Loading(passes, stack.enter_context(ThreadPoolExecutor(len(passes) + 1)), forecaster, containers)
        for attempts in passes.values():
            stack.callback(attempts.stop)
        observed = loading.run(path, inventory)
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
            driver_seconds={jit: attempts.seconds for jit, attempts in passes.items()},
        )


def _started(stack: ExitStack, settings: LoadSettings) -> dict[JitPass, Attempts]:
    """One worker for each pass, all starting the driver at the same time."""
    kept = {name: value for name, value in settings.environment.items() if name not in _OURS}
    passes: dict[JitPass, Attempts] = {}
    for jit, variables in _PASSES.items():
        environment = {**environment_for(settings.selector, kept), **_ALWAYS, **variables}
        passes[jit] = Attempts(environment, limits=settings.limits, fresh=settings.fresh)
        stack.callback(passes[jit].end)
    return passes


def _chosen(passes: dict[JitPass, Attempts], settings: LoadSettings) -> tuple[Greeting, DeviceFacts]:
    """The device that was asked for, as all passes see it."""
    try:
        greetings = [attempts.greeting() for attempts in passes.values()]
    except NoDevice as error:
        if settings.selector.uuid is None:
            raise
        raise NoDevice(
            f"--device {settings.selector}: the driver shows no such device", remedy="nvidia-smi -L lists them"
        ) from error
    return greetings[0], find_device(settings.selector, greetings[0].devices)


@dataclass(slots=True)
class _Loading:
    """The three passes over the containers: each container is in all passes at once, the next one is read meanwhile."""

    passes: Mapping[JitPass, Attempts]
    pool: ThreadPoolExecutor
    forecaster: Forecaster
    containers: tuple[Container, ...]
    observed: list[Observed] = field(default_factory=list)
    under_way: _UnderWay | None = None

    def run(self, path: Path, inventory: Inventory) -> tuple[Observed, ...]:
        """Load everything that is to be loaded."""
        wanted = {item.path: item for item in self.containers if item.role.is_loaded}
        pieces = Pieces.of(
            (fatbin for fatbin in inventory.fatbins if fatbin.path in wanted),
            (image for image in inventory.bare if image.path in wanted),
        )

        def give(place: MemberPath, image: bytes) -> None:
            self._finish()
            self.under_way = self._begin(wanted[place], image)

        if pieces.count:
            pour(path, pieces, give)
        self._finish()
        return tuple(self.observed)

    def _begin(self, container: Container, image: bytes) -> _UnderWay:
        foreseen = {jit: container.forecast.of(jit) if container.forecast else None for jit in self.passes}
        answers = {jit: self.pool.submit(attempts.load, image, foreseen[jit]) for jit, attempts in self.passes.items()}
        return _UnderWay(container, image, self.pool.submit(_digest, image), answers)

    def _finish(self) -> None:
        if self.under_way is None:
            return
        item, self.under_way = self.under_way, None
        answers = {jit: answer.result() for jit, answer in item.answers.items()}
        seen = Observed(item.container, item.digest.result(), answers)
        if seen.agrees is False and not all(answer.loaded for answer in answers.values()):
            seen = replace(seen, container=self.forecaster.deepened(item.container, item.image))
        self.observed.append(seen)


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A container that the passes are loading."""

    container: Container
    image: bytes
    digest: Future[str]
    answers: Mapping[JitPass, Future[Answer]]


def _digest(image: bytes) -> str:
    return hashlib.sha256(image).hexdigest()
