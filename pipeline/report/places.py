"""Where in a repository a finding is shown: the line of matrix.yaml that makes the promise, else the artifact."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from pipeline.report.shown import shown

if TYPE_CHECKING:
    from pipeline.audit.report import AuditedArtifact
    from pipeline.model.finding import Finding
    from pipeline.model.lane import Lane
    from pipeline.report.told import Told

_SETTINGS = {
    "fatbin-codec": "compression",
    "arch-missing": "archs",
    "arch-suffix": "archs",
    "declared-archs": "archs",
    "toolkit-mismatch": "toolkit",
    "toolkit-major": "toolkit",
    "ptx-isa": "toolkit",
    "glibc-floor": "glibc",
    "libstdcxx-floor": "glibcxx",
    "needed-library": "host_libraries",
    "size-budget": "size_budget",
    "libcuda-symbol": "driver_floor",
    "driver-retired": "targets",
    "driver-too-old-for-gpu": "targets",
}
"""The setting of a lane that one would change for a rule; the lane's own line for all others."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file by its path in the repository, and a line from 1."""

    file: str
    line: int
    column: int = 1


def lane_place(lane: Lane, root: PurePath, rule: str = "") -> Place:
    """The line of the setting that ``rule`` is about, or of the lane."""
    position = lane.place(_SETTINGS.get(rule, "id"))
    return Place(repository_path(position.file, root), position.line, position.column)


def artifact_of(told: Told, finding: Finding) -> AuditedArtifact | None:
    """The artifact that the finding lies in: the one whose path is the longest beginning of its own."""
    inside = [item for item in told.artifacts if finding.path.startswith(shown(item.path))]
    return max(inside, key=lambda item: len(item.path), default=None)


def repository_path(file: str, root: PurePath) -> str:
    """``file`` relative to ``root``; its name alone where it lies elsewhere: reports hold no path of a machine."""
    path = PurePath(file)
    if path.is_absolute():
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    return path.name if ".." in path.parts else path.as_posix()
