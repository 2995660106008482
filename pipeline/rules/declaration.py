"""What is promised: the lane's side of every comparison, and the host that a bundle must start on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

from pipeline.errors import UsageError
from pipeline.model.cpu import CpuLevel
from pipeline.model.versions import GlibcVersion, GlibcxxVersion

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.model.arch import TargetArch
    from pipeline.model.lane import Flavour, Lane, Platform, Target
    from pipeline.model.versions import DriverVersion, ToolkitVersion

T = TypeVar("T")
_HOST_FORM = "write glibc=2.31,glibcxx=3.4.28,cpu=x86-64-v2,library=libgomp.so.1, each part once except library"


@dataclass(frozen=True, slots=True)
class HostFloor:
    """The oldest host: its glibc, libstdc++ and processor where declared, and libraries besides the base system's."""

    glibc: GlibcVersion | None = None
    glibcxx: GlibcxxVersion | None = None
    libraries: tuple[str, ...] = ()
    cpu: CpuLevel | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``glibc=2.31,library=libgomp.so.1``; ``UsageError`` where it is something else."""
        glibc: GlibcVersion | None = None
        glibcxx: GlibcxxVersion | None = None
        libraries: list[str] = []
        cpu: CpuLevel | None = None
        for part in text.split(","):
            key, _, value = part.strip().partition("=")
            if key == "library" and value:
                libraries.append(value)
            elif key == "glibc" and glibc is None:
                glibc = _read(GlibcVersion.parse, value, text)
            elif key == "glibcxx" and glibcxx is None:
                glibcxx = _read(GlibcxxVersion.parse, value, text)
            elif key == "cpu" and cpu is None:
                cpu = _read(CpuLevel.parse, value, text)
            else:
                raise UsageError(f"{part!r} in --host {text} is not a host property", remedy=_HOST_FORM)
        return cls(glibc, glibcxx, tuple(libraries), cpu)


def _read(parse: Callable[[str], T], value: str, text: str) -> T:
    try:
        return parse(value)
    except ValueError as error:
        raise UsageError(f"--host {text}: {error}", remedy=_HOST_FORM) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a lane promises about its bundle. ``driver_floor`` and ``toolkit`` are ``None`` where not declared.

    ``by_design`` names libraries (shell patterns) whose missing architectures the library itself dispatches around;
    ``never_by_design`` those where every unit must serve every target. ``compiles`` says that the product's kernels are
    compiled on its users' machines, some or all of them.
    """

    lane: str
    flavour: Flavour
    archs: tuple[TargetArch, ...]
    toolkit: ToolkitVersion | None
    driver_floor: DriverVersion | None
    targets: tuple[Target, ...]
    host: HostFloor
    platform: Platform | None = None
    by_design: tuple[str, ...] = ()
    never_by_design: tuple[str, ...] = ()
    size_budget: int | None = None
    compiles: bool = False

    @classmethod
    def of(cls, lane: Lane) -> Self:
        """The declared side of a lane of matrix.yaml."""
        return cls(
            lane=lane.id,
            flavour=lane.flavour,
            archs=lane.archs,
            toolkit=lane.toolkit,
            driver_floor=lane.driver_floor,
            targets=lane.targets,
            host=HostFloor(lane.host_glibc, lane.host_glibcxx, lane.host_libraries, lane.host_cpu),
            platform=lane.platform,
            by_design=lane.by_design,
            never_by_design=lane.never_by_design,
            size_budget=lane.size_budget,
            compiles=bool(lane.jit_sources),
        )
