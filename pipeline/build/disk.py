"""Whether there is room for a build, asked before an hour goes into it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pipeline.errors import InfrastructureError
from pipeline.model.lane import Flavour, ToolkitOrigin

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.engine.docker import DockerEngine
    from pipeline.model.lane import Lane

_GIB = 1 << 30


def disk_need(lane: Lane) -> int:
    """Bytes that a build of ``lane`` may take in the engine, rounded up from what was measured.

    Measured with llama.cpp on Debian 12: compilers 0.7 GB, toolkit of wheels 0.9 GB, build tree 1 to 3 GB, compiler
    cache up to 1 GB; an nvidia/cuda devel image takes 7.4 GB.
    """
    if lane.flavour is Flavour.CPU:
        return 3 * _GIB
    return (8 if lane.toolkit_origin is ToolkitOrigin.WHEELS else 16) * _GIB


def check_disk(lane: Lane, state: Path, engine: DockerEngine) -> None:
    """``InfrastructureError`` when the engine's disk or the state's has less than the build may need."""
    for folder in (engine.facts().root, state):
        if folder.is_dir():  # an engine on another machine keeps its images there
            _check(lane, folder, disk_need(lane))


def _check(lane: Lane, folder: Path, need: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < need:
        raise InfrastructureError(
            f"{lane.id}: the build may need {need / _GIB:.0f} GiB in {folder}, {free / _GIB:.1f} GiB are free",
            remedy="free some, e.g. by `cubingate clean` or `docker system prune`",
        )
