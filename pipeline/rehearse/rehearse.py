"""The rehearsal of an artifact for its targets: find what is compiled, assemble each text once, say what came of it."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import CubingateError, InfrastructureError, Interrupted, Terminated
from pipeline.rehearse.judged import Judged
from pipeline.rehearse.plan import Planner
from pipeline.rehearse.program import JitLibrary, of_library, unpacked
from pipeline.rehearse.running import Command, Limits, run_all
from pipeline.rehearse.texts import Texts
from pipeline.rehearse.wanted import wanted_by
from pipeline.rules.assembly import Ending, Rehearsal, Rehearsed, TargetRehearsal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pipeline.formats.facts import Inventory
    from pipeline.inventory.source import Source
    from pipeline.policy import Policy
    from pipeline.policy.rows import AssemblerRow
    from pipeline.rehearse.plan import Planned, TargetPlan, Task
    from pipeline.rehearse.program import Fetch, Program
    from pipeline.rules.assembly import Assembly
    from pipeline.rules.subject import Aim

_CUBIN = "out.cubin"


def _say_nothing(_done: int, _total: int) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearseSettings:
    """How to rehearse. ``fetch`` brings an assembler's wheel, ``platform`` is what this machine runs.

    ``libraries`` are drivers' own JIT compilers, for targets of their branches.
    ``amount`` is told how many texts are done, of how many. ``scratch`` is the folder in which temporary ones are made,
    the system's where it is ``None``.
    """

    fetch: Fetch
    platform: str
    libraries: tuple[JitLibrary, ...] = ()
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    amount: Callable[[int, int], None] = _say_nothing
    scratch: Path | None = None


def rehearse(
    artifacts: Sequence[tuple[Path | Source, Inventory]],
    aims: Sequence[Aim],
    policy: Policy,
    settings: RehearseSettings,
) -> Rehearsal:
    """Assemble all PTX of the artifacts that a target's driver would compile.

    ``InfrastructureError`` when the disk refuses or no process can be started.
    """
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="cubingate-rehearse-", dir=settings.scratch) as name:
            plans = _planned(artifacts, aims, policy, settings, Path(name))
            done = _Room(Path(name), settings).assemble(plans)
    except OSError as error:
        raise InfrastructureError.of(error) from error
    targets = tuple(_target(plan, done) for plan in plans)
    return Rehearsal(targets, time.monotonic() - started, settings.workers)


def _planned(
    artifacts: Sequence[tuple[Path | Source, Inventory]],
    aims: Sequence[Aim],
    policy: Policy,
    settings: RehearseSettings,
    folder: Path,
) -> tuple[TargetPlan, ...]:
    """Read all texts that any target wants, each once, and plan each target."""
    wanted = [(aim, tuple(wanted_by(aim))) for aim in aims]
    texts = Texts(folder, settings.limits.texts)
    for source, inventory in artifacts:
        own = {fatbin.path for fatbin in inventory.fatbins} | {image.path for image in inventory.bare}
        asked = (item.text for _, items in wanted for item in items if item.text.container in own)
        texts.take(source, inventory, asked)
    libraries = {library.driver.branch: library for library in settings.libraries}
    planner = Planner(texts, policy, settings.platform, libraries)
    return tuple(planner.plan(aim, items) for aim, items in wanted)


@dataclass(frozen=True, slots=True)
class _Room:
    """Where assemblers work: ``folder`` holds them, the texts, and a folder for each run."""

    folder: Path
    settings: RehearseSettings

    def assemble(self, plans: Iterable[TargetPlan]) -> Mapping[Task, Assembly]:
        """Do every task once, the longest texts first, so that no processor is left with one at the end."""
        attempts = {item.task: item.attempt for plan in plans for item in plan.items if item.task is not None}
        programs = {by: self._program(by) for by in dict.fromkeys(task.by for task in attempts)}
        done = {task: _unfetched(attempts[task], programs[task.by]) for task in attempts}
        tasks = sorted(
            (task for task in attempts if not isinstance(programs[task.by], CubingateError)),
            key=lambda task: -task.text.size,
        )
        judged = Judged(self.settings.limits)
        commands = [self._command(place, task, programs[task.by]) for place, task in enumerate(tasks)]
        self.settings.amount(0, len(tasks))
        runs = run_all(commands, self.settings.limits, self.settings.workers)
        for count, ended in enumerate(runs, 1):
            task, folder = tasks[ended.place], commands[ended.place].folder
            done[task] = judged.judge(attempts[task], ended, task.text.path, folder / _CUBIN)
            (folder / _CUBIN).unlink(missing_ok=True)
            self.settings.amount(count, len(tasks))
        return done

    def _program(self, by: AssemblerRow | JitLibrary) -> Program | CubingateError:
        try:
            return of_library(by) if isinstance(by, JitLibrary) else unpacked(self.settings.fetch(by), self.folder)
        except (Interrupted, Terminated):
            raise
        except CubingateError as error:
            return error

    def _command(self, place: int, task: Task, program: Program | CubingateError) -> Command:
        if isinstance(program, CubingateError):
            raise program
        folder = self.folder / f"run-{place}"
        folder.mkdir()
        return Command(program.command(task.text.path, task.arch, _CUBIN), folder)


def _unfetched(attempt: Assembly, program: Program | CubingateError) -> Assembly:
    reason = program.message if isinstance(program, CubingateError) else ""
    return replace(attempt, ending=Ending.NOT_FETCHED, reason=reason)


def _target(plan: TargetPlan, done: Mapping[Task, Assembly]) -> TargetRehearsal:
    return TargetRehearsal(
        target=plan.aim.label,
        sm=plan.aim.target.sm,
        assembler=plan.assembler,
        containers=tuple(_rehearsed(item, done) for item in plan.items),
        served=plan.served,
        idle=plan.idle,
    )


def _rehearsed(item: Planned, done: Mapping[Task, Assembly]) -> Rehearsed:
    """Two containers may hold the same text under two names; each keeps its own."""
    assembly = done[item.task] if item.task is not None else item.attempt
    return Rehearsed(item.wanted.text.container, item.wanted.library, replace(assembly, image=item.wanted.image))
