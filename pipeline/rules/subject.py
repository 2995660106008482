"""What a rule looks at, and what it may say about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import ElfFacts, Inventory
    from pipeline.model.arch import Gpu
    from pipeline.model.distribution import Distribution
    from pipeline.model.lane import Target
    from pipeline.model.paths import MemberPath
    from pipeline.policy import Policy
    from pipeline.rules.assembly import Rehearsal
    from pipeline.rules.choice import Selection
    from pipeline.rules.declaration import Declaration, HostFloor
    from pipeline.rules.obstacle import Obstacle
    from pipeline.rules.unit import Unit, Units


class Effect(StrEnum):
    """What a claim does to the verdict of its targets: ``DOUBT`` makes it unknown, the last two nothing."""

    FAIL = "fail"
    DOUBT = "doubt"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing a rule says. ``targets`` are printed ``SM@DRIVER``; none means that it is about the artifact.

    ``error`` is the CUDA error that users would meet, empty where there is none. ``group`` is the member whose
    claims are told as one.
    """

    rule: str
    effect: Effect
    path: str
    declared: str
    observed: str
    remedy: str
    count: int = 1
    targets: tuple[str, ...] = ()
    error: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """What a rule did: how many things it looked at, what it claims, or why it does not apply."""

    examined: int
    claims: tuple[Claim, ...] = ()
    not_applicable: str | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """How one unit fares on one target. ``excused`` marks code that is absent there by design.

    ``ruling`` is the setting that overruled the heuristic (``by_design: libk.so``), empty where none did.
    """

    unit: Unit
    selection: Selection
    excused: bool = False
    ruling: str = ""


@dataclass(frozen=True, slots=True)
class Aim:
    """A target with what the tables know about it. ``gpu`` is ``None`` and ``doubt`` says why where they are silent.

    ``loads`` is empty when the driver does not serve the GPU (``unserved``, by which rule) or is not known.
    ``set_aside`` are libraries of which another CUDA version in the artifact serves this target.
    """

    target: Target
    gpu: Gpu | None
    loads: tuple[Load, ...] = ()
    doubt: str | None = None
    unserved: Obstacle | None = None
    set_aside: frozenset[MemberPath] = frozenset()

    @property
    def label(self) -> str:
        """``80@535.288.01``."""
        return self.target.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Everything the rules may look at: facts, what is declared, the policy. Rules read it and nothing else.

    ``distributions`` are those that the input holds, ``requirements`` those that a wheel names in its metadata,
    normalized; ``rehearsal`` is what
    assemblers said about PTX, where they were asked.
    """

    inventories: tuple[Inventory, ...]
    device: Units
    aims: tuple[Aim, ...]
    policy: Policy
    declaration: Declaration | None = None
    host: HostFloor | None = None
    requirements: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    rehearsal: Rehearsal | None = None

    @property
    def elves(self) -> tuple[ElfFacts, ...]:
        """Every host ELF file of every artifact."""
        return tuple(elf for inventory in self.inventories for elf in inventory.elves)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The device code that is judged."""
        return self.device.loaded

    @property
    def containers(self) -> int:
        """How many containers are judged."""
        return sum(unit.count for unit in self.units)

    @property
    def entries(self) -> int:
        """How many entries are judged."""
        return sum(unit.entries for unit in self.units)

    @property
    def labels(self) -> tuple[str, ...]:
        """Every target, printed."""
        return tuple(aim.label for aim in self.aims)

    def labels_for(self, library: MemberPath) -> tuple[str, ...]:
        """The targets on which this library counts: not where another variant of it serves."""
        return tuple(aim.label for aim in self.aims if library not in aim.set_aside)

    def met(self, rule: str) -> Iterator[tuple[Aim, Load, Obstacle]]:
        """Where that rule's obstacle stands in the way of a unit that is not excused."""
        for aim in self.aims:
            for load in aim.loads:
                for obstacle in () if load.excused else load.selection.obstacles:
                    if obstacle.rule == rule:
                        yield aim, load, obstacle

    def pardoned(self, rule: str) -> Iterator[tuple[Aim, Load, Obstacle]]:
        """Where that rule's obstacle is excused only because a setting of the lane says so."""
        for aim in self.aims:
            for load in aim.loads:
                for obstacle in load.selection.obstacles if load.excused and load.ruling else ():
                    if obstacle.rule == rule:
                        yield aim, load, obstacle
