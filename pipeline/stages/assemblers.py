"""How a rehearsal is done on this machine: assemblers out of the cache or the registry, one for each processor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pipeline.machine import this_machine

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.build.settings import Network
    from pipeline.policy.rows import AssemblerRow
    from pipeline.rehearse import RehearseSettings
    from pipeline.report.progress import Step


def rehearse_settings(
    cache: Path, network: Network, step: Step, *, workers: int = 0, seconds: float | None = None
) -> RehearseSettings:
    """Settings with the wheels kept below ``cache``, and ``step`` told how far it is.

    ``workers`` 0 means every processor that this process may use; ``seconds`` of processor time are for one text.
    """
    from pipeline.rehearse import RehearseSettings
    from pipeline.rehearse.running import Limits

    def fetch(row: AssemblerRow) -> Path:
        from pipeline.build.source import fetch_prebuilt
        from pipeline.model.lane import PrebuiltWheel

        wheel = PrebuiltWheel(row.package, row.version, row.filename, row.sha256)
        return fetch_prebuilt(wheel, cache, network, step.note)

    return RehearseSettings(
        fetch=fetch,
        platform=this_machine(engine="none").platform,
        workers=workers or len(os.sched_getaffinity(0)),
        limits=Limits() if seconds is None else Limits(seconds=seconds),
        amount=step.amount,
    )
