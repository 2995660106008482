"""How a rehearsal is done on this machine: assemblers out of the cache or the registry, one for each processor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.machine import this_machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipeline.build.settings import Network
    from pipeline.policy.rows import AssemblerRow
    from pipeline.rehearse import RehearseSettings
    from pipeline.report.progress import Step


LIBRARIES = "CUBINGATE_JIT_LIBRARIES"


def libraries_of(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The JIT libraries that an environment names, separated as in PATH."""
    return tuple(Path(name) for name in environment.get(LIBRARIES, "").split(os.pathsep) if name)


def rehearse_settings(
    cache: Path,
    network: Network,
    step: Step,
    *,
    libraries: Iterable[Path] = (),
    workers: int = 0,
    seconds: float | None = None,
) -> RehearseSettings:
    """Settings with the wheels kept below ``cache``, and ``step`` told how far it is.

    ``libraries`` are files of drivers' own JIT compilers (``UsageError`` for others). ``workers`` 0 means every
    processor that this process may use; ``seconds`` of processor time are for one text.
    """
    from pipeline.rehearse import RehearseSettings
    from pipeline.rehearse.program import JitLibrary
    from pipeline.rehearse.running import Limits

    def fetch(row: AssemblerRow) -> Path:
        from pipeline.build.source import fetch_prebuilt
        from pipeline.model.lane import PrebuiltWheel

        wheel = PrebuiltWheel(row.package, row.version, row.filename, row.sha256)
        return fetch_prebuilt(wheel, cache, network, step.note)

    return RehearseSettings(
        fetch=fetch,
        platform=this_machine(engine="none").platform,
        libraries=tuple(JitLibrary.at(path) for path in libraries),
        workers=workers or len(os.sched_getaffinity(0)),
        limits=Limits() if seconds is None else Limits(seconds=seconds),
        amount=step.amount,
    )
