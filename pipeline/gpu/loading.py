"""Containers on their way to the driver: read one after the other, given to the job that has the least to do."""

from __future__ import annotations

from collections import deque
from concurrent.futures import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING, Any

from pipeline.gpu.containers import Pieces, pour

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from pathlib import Path

    from pipeline.formats.facts import Inventory
    from pipeline.gpu.forecast import Container, Forecaster
    from pipeline.gpu.passes import Loaded, Passes
    from pipeline.gpu.report import Observed
    from pipeline.model.paths import MemberPath

# Seconds. A signal that comes right before a wait without a limit is heeded only when that wait is over.
_TICK = 0.2
_AHEAD = 32 << 20  # bytes of containers that one job may have before it, so that it never waits for the next
_MOST_AHEAD = 16  # containers; none where there are several jobs: a slow one would hold up what another could do


class Loading:
    """Containers go to the next free job, in the order in which they lie; the next ones are read meanwhile."""

    def __init__(self, forecaster: Forecaster, jobs: tuple[Passes, ...], pool: Executor) -> None:
        self._forecaster = forecaster
        self._serving = [future for passes in jobs for future in passes.serve(pool)]
        self._most = _MOST_AHEAD if len(jobs) == 1 else 1
        self._with: list[tuple[Passes, list[Loaded]]] = [(passes, []) for passes in jobs]
        self._under_way: deque[Loaded] = deque()
        self._observed: list[Observed] = []

    def run(self, path: Path, inventory: Inventory, containers: tuple[Container, ...]) -> tuple[Observed, ...]:
        """Load everything that is to be loaded."""
        wanted = {item.path: item for item in containers if item.role.is_loaded}
        pieces = Pieces.of(
            (fatbin for fatbin in inventory.fatbins if fatbin.path in wanted),
            (image for image in inventory.bare if image.path in wanted),
        )

        def give(place: MemberPath, image: bytes) -> None:
            passes, before = self._free(len(image))
            before.append(passes.submit(wanted[place], image))
            self._under_way.append(before[-1])

        if pieces.count:
            pour(path, pieces, give)
        for passes, _ in self._with:
            passes.finish()
        while self._under_way:
            self._wait()
        return tuple(self._observed)

    def _free(self, size: int) -> tuple[Passes, list[Loaded]]:
        """The job with the least before it, once it has room."""
        while True:
            self._collect()
            passes, before = min(self._with, key=lambda job: len(job[1]))
            room = _AHEAD - sum(len(item.image) for item in before)
            if not before or (len(before) < self._most and size <= room):
                return passes, before
            self._wait()

    def _wait(self) -> None:
        """Until something happens, or a moment."""
        waiting: list[Future[Any]] = [
            answer for item in self._under_way for answer in item.answers.values() if not answer.done()
        ]
        if waiting:
            serving = [future for future in self._serving if not future.done()]
            wait([*waiting, *serving], timeout=_TICK, return_when=FIRST_COMPLETED)
        self._collect()

    def _collect(self) -> None:
        """Take what is done, in order; the error of any container ends the load here."""
        for future in (future for future in self._serving if future.done()):
            future.result()
        for item in self._under_way:
            if item.error is not None:
                raise item.error
        for _, before in self._with:
            before[:] = [item for item in before if not item.done]
        while self._under_way and self._under_way[0].done:
            self._observed.append(self._under_way.popleft().observed(self._forecaster))
