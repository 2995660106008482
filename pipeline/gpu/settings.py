"""How a load is to be done: on which device, within which limits, in whose environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.gpu.device import Selector
from pipeline.gpu.lease import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pipeline.model.versions import DriverVersion

_FIRST = Selector(0, None)


def _say_nothing(_line: str) -> None:
    pass


def _kernel_module() -> DriverVersion | None:
    from pipeline.gpu.machine import kernel_module

    return kernel_module()


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that a worker may take to start the driver, and to load one container."""

    start: float = 60.0
    container: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """How to load. ``environment`` is this process's own.

    ``wait`` is how many seconds a device that another check holds is waited for, ``fresh`` asks for a process of its
    own for each container that fails. ``jobs`` containers are loaded at the same time: JIT takes a processor each, and
    every job three contexts on the device. ``module`` tells the kernel module's version. ``pauses`` are the seconds
    before each further try when the device or its driver failed.
    """

    environment: Mapping[str, str]
    selector: Selector = _FIRST
    limits: Limits = field(default_factory=Limits)
    wait: float = 600.0
    fresh: bool = False
    jobs: int = 1
    pauses: tuple[float, ...] = (2.0, 10.0)
    module: Callable[[], DriverVersion | None] = _kernel_module
    locks: Path = FOLDER
    note: Callable[[str], None] = _say_nothing
