"""Compile everything that a lane's product compiles on its users' machines, side by side, and judge what came out."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.jit.compilation import Compilation
from pipeline.jit.judge import judge
from pipeline.jit.plan import Planner
from pipeline.jit.toolbox import Toolbox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.jit.plan import Task
    from pipeline.jit.report import JitReport
    from pipeline.model.lane import Lane, PrebuiltWheel
    from pipeline.model.target import Target
    from pipeline.policy import Policy


def _say_nothing(_done: int, _total: int) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class JitSettings:
    """How to compile: ``fetch`` brings a wheel, ``cache`` keeps what was unpacked, ``platform`` is this machine's.

    ``bundle`` is the unpacked bundle, where sources lie in it. ``amount`` is told how many compilations are done.
    """

    fetch: Callable[[PrebuiltWheel], Path]
    cache: Path
    platform: str
    workers: int = 1
    bundle: Path | None = None
    amount: Callable[[int, int], None] = _say_nothing


def compile_lane(lane: Lane, targets: Sequence[Target], policy: Policy, settings: JitSettings) -> JitReport:
    """Compile the lane's JIT sources for ``targets``.

    ``InfrastructureError`` when the disk refuses, no process can be started or a compiler cannot be fetched;
    ``UsageError`` for files that are not there.
    """
    tools = Toolbox(settings.fetch, settings.cache, settings.platform, policy)
    planned = tuple(Planner(tools, targets, settings.bundle).plan(lane.jit_sources))
    return judge(lane, targets, _compiled(planned, settings), policy)


def _compiled(planned: Sequence[Task | Compilation], settings: JitSettings) -> tuple[Compilation, ...]:
    """What became of each, in their order."""
    done = [item if isinstance(item, Compilation) else None for item in planned]
    try:
        with tempfile.TemporaryDirectory(prefix="cubingate-jit-") as scratch, _pool(settings) as pool:
            running = {
                pool.submit(_in_folder, item, Path(scratch).resolve() / str(place)): place
                for place, item in enumerate(planned)
                if not isinstance(item, Compilation)
            }
            for count, future in enumerate(as_completed(running), 1):
                done[running[future]] = future.result()
                settings.amount(count, len(running))
    except OSError as error:
        raise InfrastructureError.of(error) from error
    return tuple(item for item in done if item is not None)


def _pool(settings: JitSettings) -> ThreadPoolExecutor:
    """Threads that wait for the compilers, which are processes of their own."""
    return ThreadPoolExecutor(max(settings.workers, 1))


def _in_folder(task: Task, folder: Path) -> Compilation:
    folder.mkdir()
    return task.compile(folder)
