"""Device code before and after: GPUs that nothing serves any more, drivers that no longer do, codecs that came.

``arch-lost``: every container was served on a GPU by some driver and now none does it, or a library's machine code for
a GPU is gone and only PTX is left, which each user's driver compiles anew. ``floor-raised``: the lowest driver on which
all of it loads has gone up. ``codec-changed``: images are packed in a way that needs a newer driver than before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.audit.floors import minimum_driver
from pipeline.diff.difference import Compared, FloorPair
from pipeline.diff.members import pair
from pipeline.model.arch import ArchKind
from pipeline.model.finding import Finding, Severity
from pipeline.model.image import EntryKind
from pipeline.model.versions import DriverVersion
from pipeline.rules.unit import flat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pipeline.audit.report import Floor
    from pipeline.model.arch import Gpu, TargetArch
    from pipeline.model.image import Codec
    from pipeline.model.paths import MemberPath
    from pipeline.policy import Policy
    from pipeline.rules.declaration import Declaration
    from pipeline.rules.unit import Unit, Units

ARCH_LOST, FLOOR_RAISED, CODEC_CHANGED = "arch-lost", "floor-raised", "codec-changed"
_NO_DEVICE_CODE = "no device code in OLD"


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """The device code of both artifacts."""

    old: Units
    new: Units
    policy: Policy
    declaration: Declaration | None
    new_root: str

    def floors(self) -> tuple[FloorPair, ...]:
        """The lowest driver for every GPU generation of the tables, before and after."""
        return tuple(
            FloorPair(number, self._floor(number, self.old), self._floor(number, self.new))
            for number in (row.gpu.number for row in self.policy.gpus)
        )

    def _floor(self, number: int, units: Units) -> Floor:
        return minimum_driver(number, units.loaded, self.declaration, self.policy)


def compare_floors(code: DeviceCode, floors: Iterable[FloorPair]) -> tuple[Compared, Compared]:
    """``arch-lost`` as far as floors show it, and ``floor-raised``."""
    served = [floor for floor in floors if floor.old.driver]
    lost = [floor for floor in served if not floor.new.driver]
    raised = [floor for floor in served if floor.new.driver and _higher(floor)]
    reason = "" if code.old.loaded else _NO_DEVICE_CODE
    gone = tuple(_no_driver(code, group) for group in _grouped(lost, lambda floor: (floor.new,)))
    up = tuple(_raised(code, group) for group in _grouped(raised, lambda floor: (floor.old, floor.new)))
    return Compared(ARCH_LOST, len(served), gone, reason), Compared(FLOOR_RAISED, len(served), up, reason)


def _higher(floor: FloorPair) -> bool:
    return DriverVersion(floor.new.driver) > DriverVersion(floor.old.driver)


def _grouped(floors: Iterable[FloorPair], key: Callable[[FloorPair], tuple[Floor, ...]]) -> list[list[FloorPair]]:
    groups: dict[tuple[Floor, ...], list[FloorPair]] = {}
    for floor in floors:
        groups.setdefault(key(floor), []).append(floor)
    return list(groups.values())


def _names(group: list[FloorPair]) -> str:
    return ", ".join(f"sm_{floor.sm}" for floor in group)


def _no_driver(code: DeviceCode, group: list[FloorPair]) -> Finding:
    first = group[0]
    known = "no driver serves all of it" if first.new.reason == "none" else "no driver is known to serve all of it"
    return Finding(
        rule=ARCH_LOST,
        severity=Severity.ERROR,
        path=code.new_root,
        declared=f"{_names(group)}: some driver serves all of it",
        observed=f"{_names(group)}: {known}",
        remedy="build for these GPUs again, or say in the release notes that they are dropped (--allow arch-lost)",
        count=len(group),
    )


def _raised(code: DeviceCode, group: list[FloorPair]) -> Finding:
    first = group[0]
    return Finding(
        rule=FLOOR_RAISED,
        severity=Severity.ERROR,
        path=code.new_root,
        declared=f"{_names(group)}: driver >= {first.old.driver}",
        observed=f"{_names(group)}: needs driver >= {first.new.driver} ({first.new.reason})",
        remedy=f"`cubingate explain {first.new.reason}` says what to change; or announce it (--allow floor-raised)",
        count=len(group),
    )


def compare_archs(code: DeviceCode) -> Compared:
    """``arch-lost`` library by library: machine code for a GPU that is gone."""
    old, new = _by_library(code.old.loaded), _by_library(code.new.loaded)
    found = tuple(
        finding
        for mine, theirs in pair(old, new).same
        for finding in _lost_archs(code, theirs, _archs(old[mine]), _archs(new[theirs]))
    )
    return Compared(ARCH_LOST, len(old), found, "" if old else _NO_DEVICE_CODE)


def _by_library(units: Iterable[Unit]) -> dict[MemberPath, list[Unit]]:
    found: dict[MemberPath, list[Unit]] = {}
    for unit in units:
        found.setdefault(unit.library, []).append(unit)
    return found


def _archs(units: Iterable[Unit]) -> list[TargetArch]:
    kinds = {EntryKind.PTX, EntryKind.CUBIN}
    found = (image.arch for unit in units for image in flat(unit.images) if image.kind in kinds)
    return sorted({arch for arch in found if arch is not None})


def _lost_archs(
    code: DeviceCode, library: MemberPath, old: list[TargetArch], new: list[TargetArch]
) -> Iterator[Finding]:
    for arch in old:
        if arch in new:
            continue
        serving = [_serving(gpu, arch, new, code.policy) for gpu in _users(arch, old, code.policy)]
        lost = not all(serving)
        served = ", ".join(dict.fromkeys(str(other) for others in serving for other in others))
        yield Finding(
            rule=ARCH_LOST,
            severity=Severity.ERROR if lost else Severity.NOTE,
            path=str(library),
            declared=f"{arch} is in the library",
            observed=f"{arch} is gone, and {served if served and not lost else 'nothing like it'} is left for its GPUs",
            remedy=f"put {arch} back into the arch list, or allow the loss (--allow arch-lost)",
        )


def _users(arch: TargetArch, archs: list[TargetArch], policy: Policy) -> list[Gpu]:
    """GPUs for which this was the best that the library had: the highest of its kind, PTX only without machine code."""
    found = []
    for row in policy.gpus:
        real = [other for other in archs if other.kind is ArchKind.REAL and _runs(other, row.gpu, policy)]
        ptx = [other for other in archs if other.kind is ArchKind.VIRTUAL and _runs(other, row.gpu, policy)]
        if arch == max(real or ptx, default=None, key=lambda other: (other.number, other.suffix)):
            found.append(row.gpu)
    return found


def _serving(gpu: Gpu, arch: TargetArch, archs: list[TargetArch], policy: Policy) -> list[TargetArch]:
    """What serves the GPU no worse than ``arch`` did: machine code in place of machine code, anything for PTX."""
    return [other for other in archs if other.kind in {arch.kind, ArchKind.REAL} and _runs(other, gpu, policy)]


def _runs(arch: TargetArch, gpu: Gpu, policy: Policy) -> bool:
    return arch.runs_on(gpu, image_tegra=policy.tegra(arch.number))


def compare_codecs(code: DeviceCode, floors: Iterable[FloorPair]) -> Compared:
    """``codec-changed``: an error where a floor rose because of it, else a note."""
    old, new = _by_library(code.old.loaded), _by_library(code.new.loaded)
    matters = any(pair_.new.reason == "fatbin-codec" and pair_.old != pair_.new for pair_ in floors)
    found = []
    for mine, theirs in pair(old, new).same:
        before, after = _codecs(old[mine]), _codecs(new[theirs])
        came = [codec for codec in after if codec not in before]
        if came:
            found.append(_codec_finding(theirs, before, came, matters=matters))
    return Compared(CODEC_CHANGED, len(old), tuple(found), "" if old else _NO_DEVICE_CODE)


def _codecs(units: Iterable[Unit]) -> list[Codec]:
    return sorted({image.codec for unit in units for image in unit.images})


def _codec_finding(library: MemberPath, before: list[Codec], came: list[Codec], *, matters: bool) -> Finding:
    return Finding(
        rule=CODEC_CHANGED,
        severity=Severity.ERROR if matters else Severity.NOTE,
        path=str(library),
        declared=f"images packed with {', '.join(before)}",
        observed=f"images packed with {', '.join(came)} as well",
        remedy="build with the same --compress-mode as before, or allow it (--allow codec-changed)",
    )
