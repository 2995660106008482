"""Whose fault a failed build is: the product's, when its compiler or its toolkit is to blame; else the machine's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.errors import CubingateError, InfrastructureError, Refused

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.engine.buildkit import BuildStepFailed
    from pipeline.model.lane import Lane

WRONG_TOOLKIT = 65
"""The status with which the rendered Dockerfile's toolkit check says no."""

_KILLED = 137
_OBSERVED = re.compile(r"cubingate: declared toolkit \S+, observed nvcc (?P<nvcc>\S*)")
# What names the cause goes before what merely says that something failed.
_COMPLAINTS = (
    re.compile(r"\berror\b[: ]|undefined reference|\bE: ", re.IGNORECASE),
    re.compile(r"\b(?:failed|cannot|no such)\b", re.IGNORECASE),
)
_PRODUCT_STAGES = ("compile", "collect")


class CompilerFailed(Refused):
    """The lane does not compile. ``tail`` is the end of the build's output."""

    def __init__(self, message: str, *, tail: str, remedy: str) -> None:
        super().__init__(message, remedy=remedy)
        self.tail = tail


def diagnose(lane: Lane, failure: BuildStepFailed, log: Path) -> CubingateError:
    """The error to raise instead of ``failure``: one line with the decisive words, and where the whole log is."""
    where = f"the whole log is {log}"
    if "No space left on device" in failure.tail:
        return InfrastructureError(f"{lane.id}: the disk is full", remedy="free some, e.g. by `cubingate clean`")
    observed = _OBSERVED.search(failure.tail)
    if failure.exit_code == WRONG_TOOLKIT and observed is not None:
        return Refused(
            f"{lane.id}: declared toolkit {lane.toolkit}, observed nvcc {observed['nvcc'] or 'none'} in the container",
            remedy="correct `toolkit` in matrix.yaml, or take a base image that has it",
        )
    if failure.exit_code == _KILLED:
        return InfrastructureError(
            f"{lane.id}: a compiler was killed, as a rule for want of memory", remedy="try again with --jobs 1"
        )
    words = decisive_line(failure.tail) or failure.message
    if failure.stage in _PRODUCT_STAGES and failure.exit_code is not None:
        return CompilerFailed(f"{lane.id}: the build failed: {words}", tail=failure.tail, remedy=where)
    return InfrastructureError(f"{lane.id}: the build's tools could not be set up: {words}", remedy=where)


def decisive_line(tail: str) -> str:
    """The first complaint of a tool in ``tail``, else its last line."""
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    for complaint in _COMPLAINTS:
        for line in lines:
            if complaint.search(line):
                return line
    return lines[-1] if lines else ""
