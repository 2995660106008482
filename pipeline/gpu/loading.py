"""Containers on their way to the driver: read one after the other, given to the next free job."""

from __future__ import annotations

from collections import deque
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from pipeline.gpu.containers import Pieces, pour

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.formats.facts import Inventory
    from pipeline.gpu.forecast import Container, Forecaster
    from pipeline.gpu.passes import Passes
    from pipeline.gpu.report import Observed
    from pipeline.model.paths import MemberPath

# Seconds. A signal that comes right before a wait without a limit is heeded only when that wait is over.
_TICK = 0.2


class Loading:
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
            passes = self._next_free()
            self._under_way.append(self._pool.submit(self._load, passes, wanted[place], image))
            self._collect()

        if pieces.count:
            pour(path, pieces, give)
        while self._under_way:
            wait(self._under_way, timeout=_TICK, return_when=FIRST_EXCEPTION)
            self._collect()
        return tuple(self._observed)

    def _next_free(self) -> Passes:
        while True:
            try:
                return self._free.get(timeout=_TICK)
            except Empty:
                self._collect()

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
