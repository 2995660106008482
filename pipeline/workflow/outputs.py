"""Names of what jobs hand on: an artifact for each lane and GPU run, and the job output that carries its digest.

Each leg of a matrix sets an output of its own name, as GitHub's documentation asks
(https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idoutputs).
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 1 << 18
"""Most characters of one of the two matrices: a job's outputs may have 1 MB together, counted as UTF-16."""

_MOST_VARIABLE = 130_000
"""Most characters of what a job gets in its environment: Linux takes 128 KiB for a variable with its name
(MAX_ARG_STRLEN, https://man7.org/linux/man-pages/man2/execve.2.html)."""

_UNFIT = re.compile(r"[^A-Za-z0-9]")


def lane_artifact(lane_id: str) -> str:
    """The artifact with a lane's bundle, logs and evidence."""
    return f"lane-{lane_id}"


def proof_artifact(run_id: str) -> str:
    """The artifact with the evidence of a GPU run."""
    return f"prove-{run_id}"


def proof_job(run_id: str) -> str:
    """The name of the job of a GPU run, as the template has it and GitHub's API lists it."""
    return f"prove on {run_id}"


def output_name(artifact: str) -> str:
    """The job output with the digest of ``artifact``; GitHub compares such names without regard to case."""
    return _UNFIT.sub("_", artifact)


def output_names(artifacts: Iterable[str]) -> tuple[str, ...]:
    """The outputs of these artifacts; ``UsageError`` when two would share one, and with it a digest."""
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    for artifact in artifacts:
        by_name[output_name(artifact).lower()].append(artifact)
    shared = next((same for same in by_name.values() if len(same) > 1), None)
    if shared is not None:
        raise UsageError(
            f"{' and '.join(shared)} would share the job output {output_name(shared[0])}",
            remedy="give one of the lanes another id",
        )
    return tuple(output_name(same[0]) for same in by_name.values())


def fitting(matrix: str, most: int = _MOST) -> str:
    """The text of a matrix as it is; ``UsageError`` when GitHub would not take it as an output of the job `plan`."""
    if len(matrix) > most:
        raise UsageError(
            f"a matrix of {len(matrix)} characters is too long for an output of a job ({most})",
            remedy="select with --lane, or promise fewer targets",
        )
    return matrix


def fitting_variable(matrix: str) -> str:
    """The text of a matrix that `watch` has in its environment too; ``UsageError`` as of ``fitting``."""
    return fitting(matrix, _MOST_VARIABLE)
