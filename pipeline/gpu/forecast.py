"""What the auditor's rules say about each container on this GPU and driver, before the driver is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.audit.aims import aim_at, replay
from pipeline.binary import BufferView
from pipeline.formats.budgets import STANDARD
from pipeline.formats.device import Flaw, read_run
from pipeline.formats.facts import EntryKind
from pipeline.formats.fatbin import ContainerReader, EntryNames
from pipeline.formats.payload import Examination
from pipeline.rules.choice import JitPass, Selection, Via
from pipeline.rules.kernelless import is_link_stub
from pipeline.rules.selection import select
from pipeline.rules.unit import Unit, images_of, units_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipeline.formats.facts import BareImage, FatbinFacts, Inventory
    from pipeline.model.lane import Target
    from pipeline.model.paths import MemberPath
    from pipeline.policy import Policy
    from pipeline.rules.declaration import Declaration
    from pipeline.rules.subject import Aim, Load


class Role(StrEnum):
    """What a container is for. Only the first two are given to the driver."""

    KERNELS = "kernels"
    LINK_STUB = "link-stub"
    RELOCATABLE = "relocatable"
    EMPTY = "empty"
    FOREIGN = "foreign"

    @property
    def is_loaded(self) -> bool:
        """Whether a program gives such a container to the driver."""
        return self in {Role.KERNELS, Role.LINK_STUB}


@dataclass(frozen=True, slots=True)
class Forecast:
    """The result that the rules foresee in each pass, ``None`` where they do not decide.

    ``by_design`` marks code that is absent on this GPU on purpose. ``why`` is the decisive obstacle, in words.
    """

    results: Mapping[JitPass, str | None]
    via: Via | None
    by_design: bool
    why: str

    def of(self, jit: JitPass) -> str | None:
        """The foreseen result of one pass."""
        return self.results[jit]


@dataclass(frozen=True, slots=True)
class Container:
    """One container or bare image with its role; ``forecast`` is ``None`` for those that are not loaded."""

    path: MemberPath
    role: Role
    size: int
    forecast: Forecast | None


@dataclass(frozen=True, slots=True)
class Forecaster:
    """Foresees for one target. ``aim`` holds the fate of every unit of the artifact."""

    aim: Aim
    policy: Policy
    fates: Mapping[MemberPath, Forecast]

    @classmethod
    def of(cls, inventory: Inventory, target: Target, policy: Policy, declaration: Declaration | None) -> Forecaster:
        """Judge the artifact as an audit would."""
        units = units_of(inventory).loaded
        aim = _without_links(aim_at(target, units, declaration, policy), policy)
        passes = {JitPass.AS_IS: aim.loads, **{jit: replay(aim, jit, policy) for jit in _ENFORCED}}
        fates: dict[MemberPath, Forecast] = {}
        for loads in zip(*passes.values(), strict=True):
            fate = _forecast(dict(zip(passes, loads, strict=True)))
            fates.update(dict.fromkeys(loads[0].unit.paths, fate))
        return cls(aim, policy, fates)

    def containers(self, inventory: Inventory) -> Iterable[Container]:
        """Every container of the artifact, in its order."""
        for fatbin in inventory.fatbins:
            role = self._role(fatbin)
            yield Container(fatbin.path, role, fatbin.size, self._fate(fatbin) if role.is_loaded else None)
        for image in inventory.bare:
            role = _bare_role(image)
            fate = self.fates.get(image.path, self._undecided()) if role.is_loaded else None
            yield Container(image.path, role, image.entry.payload_size, fate)

    def _role(self, fatbin: FatbinFacts) -> Role:
        if not fatbin.entries:
            return Role.EMPTY
        if fatbin.relocatable:
            return Role.RELOCATABLE
        if is_link_stub(fatbin):
            return Role.LINK_STUB
        loadable = any(image.loadable_kind for image in images_of(fatbin.entries, frozenset()))
        return Role.KERNELS if loadable else Role.FOREIGN

    def _fate(self, fatbin: FatbinFacts) -> Forecast:
        """Stubs and targets that the tables do not know are in no unit's fate."""
        known = self.fates.get(fatbin.path)
        if known is not None:
            return known
        unit = Unit(fatbin.path, fatbin.path, images_of(fatbin.entries, frozenset()))
        return self._alone(unit) or self._undecided()

    def _alone(self, unit: Unit) -> Forecast | None:
        if self.aim.gpu is None or self.aim.unserved is not None:
            return None
        gpu, driver = self.aim.gpu, self.aim.target.driver
        return _forecast({jit: _Alone(select(unit, gpu, driver, jit, self.policy)) for jit in JitPass})

    def _undecided(self) -> Forecast:
        unserved = self.aim.unserved
        result = unserved.error if unserved is not None else None
        why = unserved.observed if unserved is not None else self.aim.doubt or ""
        return Forecast(dict.fromkeys(JitPass, result), None, by_design=False, why=why)

    def deepened(self, container: Container, image: bytes) -> Container:
        """The same container after a look into every payload: damage in one is not in any header."""
        if container.forecast is None:
            return container
        inspect = Examination(STANDARD)
        reader = ContainerReader(EntryNames(STANDARD.all_entries), inspect, STANDARD)
        found = list(read_run(BufferView(image), "", (0, len(image)), reader))
        entries = [item.entries for item in found if not isinstance(item, Flaw)]
        if len(entries) != 1 or not any(entry.payload_error for entry in entries[0]):
            return container
        fate = self._alone(Unit(container.path, container.path, images_of(entries[0], frozenset())))
        return container if fate is None else replace(container, forecast=fate)


@dataclass(frozen=True, slots=True)
class _Alone:
    """The fate of a container that is judged without its library."""

    selection: Selection
    excused: bool = False


_ENFORCED = (JitPass.FORBIDDEN, JitPass.FORCED)


def _forecast(loads: Mapping[JitPass, Load | _Alone]) -> Forecast:
    plain = loads[JitPass.AS_IS]
    results = {jit: None if load.selection.doubtful else load.selection.result for jit, load in loads.items()}
    why = plain.selection.obstacles[0].observed if plain.selection.obstacles else ""
    return Forecast(results, plain.selection.via, plain.excused, why)


def _without_links(aim: Aim, policy: Policy) -> Aim:
    """The fates of containers as such: a driver is given each alone, and no runtime links its parts.

    What a runtime would link at the program's start is absent in the final container by design.
    """
    if aim.gpu is None:
        return aim
    gpu, driver = aim.gpu, aim.target.driver
    loads = []
    for load in aim.loads:
        if load.unit.images and load.unit.linked:
            alone = select(replace(load.unit, linked=()), gpu, driver, JitPass.AS_IS, policy)
            excused = load.excused or (load.selection.loads and alone.via is Via.NOTHING)
            load = replace(load, unit=replace(load.unit, linked=()), selection=alone, excused=excused)  # noqa: PLW2901
        loads.append(load)
    return replace(aim, loads=tuple(loads))


def _bare_role(image: BareImage) -> Role:
    if image.entry.kind not in {EntryKind.CUBIN, EntryKind.PTX}:
        return Role.FOREIGN
    relocatable = image.entry.cubin is not None and image.entry.cubin.relocatable
    return Role.RELOCATABLE if relocatable else Role.KERNELS
