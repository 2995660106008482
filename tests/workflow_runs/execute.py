"""Carries out one situation: its repository, what happens to it, and the run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.gpu import made as forged
from tests.gpu import standin
from tests.workflow_runs import act, edits, github, gpu, repository

if TYPE_CHECKING:
    from tests.workflow_runs.act import Ran
    from tests.workflow_runs.repository import Json
    from tests.workflow_runs.situations import Situation

EVENTS = {"release": "push", "pull-request": "pull_request", "nightly": "schedule"}
MEDDLER = Path(__file__).with_name("meddler.py")


@dataclass(frozen=True, slots=True)
class Shared:
    """What all runs use: the old release's folder, a sealed artifact of another commit, the stand-in driver.

    ``wheels`` is a folder with cubingate and all that it needs, for the run that installs it.
    """

    old: Path
    other: Path
    driver: Path
    wheels: Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run left, the publish folder behind it, and what was asked of GitHub."""

    ran: Ran
    dist: Path
    asked: tuple[str, ...]


def execute(situation: Situation, folder: Path, shared: Shared) -> Outcome:
    """Run the workflow in that situation; everything lies in ``folder``."""
    folder.mkdir()
    library = forged.library(folder / "libk.so", [situation.image])
    sections = {"targets": gpu.TARGETS, **situation.sections}
    made = repository.make(folder, situation.lanes, sections, {"gpu": {"lib/libk.so": library}}, kind=situation.kind)
    shutil.copytree(shared.old, made.dist)
    situation.prepare(made)
    workflow = made.read_workflow()
    edits.for_act(workflow)
    edits.impatient(workflow)
    edits.use_this_tree(workflow, folder, but=situation.installs)
    situation.edit(workflow)
    made.write_workflow(workflow)
    with github.served([_job(queued=situation.gpu == "unserved")]) as api:
        ran = act.run(made, _machines(situation, folder, shared, api.address))
    return Outcome(ran, made.dist, tuple(api.asked))


def _machines(situation: Situation, folder: Path, shared: Shared, api: str) -> act.Machines:
    unserved = situation.gpu == "unserved"
    meddles = {"STAND_IN_MEDDLER": str(MEDDLER), "STAND_IN_MEDDLES": situation.meddle} if situation.meddle else {}
    installs = {"PIP_NO_INDEX": "1", "PIP_NO_COMPILE": "1", "PIP_FIND_LINKS": str(shared.wheels)}
    return act.Machines(
        labels=() if unserved else gpu.LABELS,
        environment={} if situation.gpu in {"none", "unserved"} else _with_gpu(situation, folder, shared),
        told={"GITHUB_API_URL": api, "STAND_IN_OTHER": str(shared.other), **meddles, **installs},
        secrets={"RUNNERS_TOKEN": "no-token-either"} if situation.asks else {},
        event=EVENTS[situation.kind],
    )


def _with_gpu(situation: Situation, folder: Path, shared: Shared) -> dict[str, str]:
    return gpu.runner(standin.StandIn(shared.driver, folder), situation.image, situation.gpu)


def _job(*, queued: bool) -> Json:
    state = "queued" if queued else "completed"
    row = {"name": f"prove on {gpu.RUN}", "status": state, "labels": list(gpu.LABELS)}
    return {**row, "created_at": "2026-01-01T00:00:00Z"}
