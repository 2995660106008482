"""The drivers start, and the device is chosen, leased and opened, while the caller reads the artifact."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

from pipeline.gpu.device import find_device
from pipeline.gpu.greeting import NoDevice
from pipeline.gpu.lease import lease
from pipeline.gpu.machine import describe

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from contextlib import ExitStack

    from pipeline.gpu.greeting import DeviceFacts, Greeting
    from pipeline.gpu.machine import LoadMachine
    from pipeline.gpu.passes import Passes
    from pipeline.gpu.settings import LoadSettings

# Seconds. A signal that comes right before a wait without a limit is heeded only when that wait is over.
_TICK = 0.2


class Handshake:
    """Begun in a thread at once; ``held`` keeps the lease on the device, also after the ``end`` of the handshake."""

    def __init__(self, pool: Executor, jobs: tuple[Passes, ...], settings: LoadSettings, held: ExitStack) -> None:
        self.jobs = jobs
        self._settings = settings
        self._over = Event()
        self._held = held
        self._machine: Future[LoadMachine] = pool.submit(self._shake)

    def check(self) -> None:
        """Raise at once what is known to be wrong: ``InfrastructureError``."""
        if self._machine.done():
            self._machine.result()

    def machine(self) -> LoadMachine:
        """The machine, once its device is leased and being opened.

        ``InfrastructureError`` when there is no driver, no such GPU, or another check keeps it.
        """
        while not self._machine.done():
            self._over.wait(_TICK)
        return self._machine.result()

    def end(self) -> None:
        """Wait for nothing any more; the workers must have been stopped."""
        self._over.set()
        self._machine.exception()

    def _shake(self) -> LoadMachine:
        settings = self._settings
        greeting, device = self._chosen()
        self._held.enter_context(
            lease(device.identity, wait=settings.wait, folder=settings.locks, note=settings.note, pause=self._over.wait)
        )
        for passes in self.jobs:
            passes.use(device.index)
        return describe(greeting, device, settings.module())

    def _chosen(self) -> tuple[Greeting, DeviceFacts]:
        """The device that was asked for, as all workers see it."""
        selector = self._settings.selector
        try:
            greeting, *_ = [passes.greeting() for passes in self.jobs]
        except NoDevice as error:
            if selector.uuid is None:
                raise
            raise NoDevice(
                f"--device {selector}: the driver shows no such device", remedy="nvidia-smi -L lists them"
            ) from error
        return greeting, find_device(selector, greeting.devices)
