"""The GPU runs of a plan: a table for people, a JSON document, GitHub's include list for the jobs."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.model.document import document
from pipeline.report.color import paint
from pipeline.report.columns import columns
from pipeline.report.fold import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.matrix.gpu_runs import GpuRun
    from pipeline.model.lane import Plan


def runs_json(runs: Sequence[GpuRun]) -> str:
    """The ``gpu-runs`` document."""
    return document("gpu-runs", {"runs": [_run(run) for run in runs]})


def runs_github(runs: Sequence[GpuRun], *, most: int) -> str:
    """``{"include": […]}`` on one line for ``fromJSON``, a job for each run; ``UsageError`` for more than ``most``."""
    if len(runs) > most:
        raise UsageError(
            f"{len(runs)} GPU runs, and GitHub starts at most {most} jobs of a matrix", remedy="promise fewer targets"
        )
    return json.dumps({"include": [_run(run) for run in runs]}, separators=(",", ":"))


def runs_table(runs: Sequence[GpuRun], plan: Plan, *, color: bool, width: int = 0) -> str:
    """One line for each run, then what needs none."""
    lines: list[str] = []
    if runs:
        head = ("run", "GPU", "driver", "runner", "proves")
        bold = partial(paint, style="bold", color=color)
        lines = [*columns(head, [_cells(run) for run in runs], titled=bold, width=width), ""]
    return "\n".join([*lines, *folded(_counts(runs, plan), width)])


def _cells(run: GpuRun) -> tuple[str, ...]:
    gpu = f"{run.target.gpu or 'any'} (sm_{run.target.sm})"
    lanes = ", ".join(lane for lane, _ in run.proves)
    return (run.id, gpu, str(run.target.driver), " ".join(run.runner) or "-", lanes)


def _counts(runs: Sequence[GpuRun], plan: Plan) -> list[str]:
    lanes = {lane for run in runs for lane, _ in run.proves}
    others = {target.label: target.suffices for lane in plan.lanes for target in lane.targets if not target.required}
    whose = f" for {_many(len(lanes), 'lane')}" if runs else ""
    counts = [f"{_many(len(runs), 'GPU run')}{whose} of {plan.matrix_file}"]
    for proof in dict.fromkeys(others.values()):
        labels = sorted(label for label, suffices in others.items() if suffices is proof)
        counts.append(f"none for {', '.join(labels)}: {proof} suffices")
    return counts


def _many(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _run(run: GpuRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "sm": str(run.target.sm),
        "driver": str(run.target.driver),
        "gpu": run.target.gpu,
        "runner": list(run.runner),
        "lanes": [lane for lane, _ in run.proves],
        "proves": {lane: list(checks) for lane, checks in run.proves},
    }
