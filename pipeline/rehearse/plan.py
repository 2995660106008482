"""Who assembles what for a target: the assembler that the policy names, the PTX ISA that the driver ends at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.policy.unknown import OutsidePolicy
from pipeline.rehearse.program import described
from pipeline.rehearse.wanted import served_by
from pipeline.rules.assembly import Assembly, Complaint, Ending

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipeline.model.versions import DriverVersion
    from pipeline.policy import Policy
    from pipeline.policy.rows import AssemblerRow
    from pipeline.rehearse.program import JitLibrary
    from pipeline.rehearse.texts import Kept, Texts
    from pipeline.rehearse.wanted import Wanted
    from pipeline.rules.assembly import Assembler
    from pipeline.rules.subject import Aim


@dataclass(frozen=True, slots=True)
class Task:
    """One text for one architecture by one assembler; the same for several targets and containers is done once."""

    text: Kept
    arch: str
    by: AssemblerRow | JitLibrary


@dataclass(frozen=True, slots=True)
class Planned:
    """A container's PTX: what is known of it before, and the task that decides, ``None`` where that is enough."""

    wanted: Wanted
    attempt: Assembly
    task: Task | None = None


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """Everything that one target's driver would compile, or why that is nothing."""

    aim: Aim
    assembler: Assembler | None
    items: tuple[Planned, ...]
    served: int
    idle: str


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans on a machine of ``platform`` with the texts that could be read.

    ``libraries`` are drivers' own JIT compilers by their branch, which go before any ptxas.
    """

    texts: Texts
    policy: Policy
    platform: str
    libraries: Mapping[int, JitLibrary] = field(default_factory=dict)

    def plan(self, aim: Aim, wanted: Iterable[Wanted]) -> TargetPlan:
        """What to assemble for a target."""
        items = tuple(self._item(each, aim.target.driver) for each in wanted)
        used = [item.task.by for item in items if item.task is not None]
        assembler = described(used[0], aim.target.driver, self.policy) if used else None
        return TargetPlan(aim, assembler, items, served_by(aim), "" if items else _idle(aim))

    def _item(self, wanted: Wanted, driver: DriverVersion) -> Planned:
        nothing = Assembly(image=wanted.image, sha256="", arch=wanted.arch, ending=Ending.NOT_READ)
        kept = self.texts.kept.get(wanted.text)
        if kept is None:
            return Planned(wanted, replace(nothing, reason=self.texts.unread[wanted.text]))
        attempt = replace(nothing, sha256=kept.sha256, size=kept.size)
        newest, version = self.policy.max_ptx(driver), kept.facts.version
        if version > newest:
            words = f"PTX {version} is newer than {newest}, the newest that R{driver.branch} reads"
            complaint = Complaint("ptx-isa", words, line=1)
            return Planned(wanted, replace(attempt, ending=Ending.REFUSED, reason=words, complaints=(complaint,)))
        library = self.libraries.get(driver.branch)
        if library is not None:
            return Planned(wanted, attempt, Task(kept, wanted.arch, library))
        try:
            row = self.policy.assembler(driver, wanted.arch, self.platform)
        except OutsidePolicy as error:
            return Planned(wanted, replace(attempt, ending=Ending.NO_ASSEMBLER, reason=error.message))
        if version > row.toolkit.ptx:
            words = f"no assembler for sm_{wanted.arch} reads PTX {version}: {row.name} ends at {row.toolkit.ptx}"
            return Planned(wanted, replace(attempt, ending=Ending.NO_ASSEMBLER, reason=words))
        return Planned(wanted, attempt, Task(kept, wanted.arch, row))


def _idle(aim: Aim) -> str:
    """Why nothing is compiled."""
    if aim.doubt or aim.unserved is not None:
        return aim.doubt or "the driver does not serve this GPU"
    served = served_by(aim)
    counted = "1 container is" if served == 1 else f"{served} containers are"
    return f"{counted} served by machine code, none is compiled" if served else "no container is served"
