"""Runs a repository's workflow with ``act`` on this host, without containers.

Real are the rendered workflow with its expressions, matrices, conditions and outputs, every script in it, and this
tree's ``cubingate``. Stand-ins, each of which says so in its own log, are upload-artifact, download-artifact, cache and
attestation (``actions/``, in the place of the pinned commits), the driver of the GPU (``gpu``), GitHub's API
(``github``) and, in all jobs but one, the installation; where the workflow checks the repository out, act copies it.
What an edit has to mend in the workflow because act is not GitHub is in ``edits``.

act says of later legs of a matrix that they failed when one did, so neither its status nor its words about jobs are
used: what counts are the publish folder, the artifacts, and what the gate and its summary said.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.workflow.actions import load_actions
from tests.workflow_runs.edits import remembered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.workflow_runs.repository import Json, Repository

HERE = Path(__file__).resolve().parent
HOSTED = "ubuntu-24.04"
PATH = f"{sys.base_prefix}/bin:/usr/bin:/bin"
"""Where a job finds its programs; the Python is the one that the wheels are for."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run left in ``folder``: act's log, a log and a summary of each job, and the artifacts by name."""

    folder: Path
    events: tuple[Json, ...]

    @property
    def artifacts(self) -> Path:
        """One folder for each artifact."""
        return self.folder / "artifacts"

    def said(self, job: str, step: str = "") -> str:
        """What the steps of a job (or the one step of that name) printed, in every leg of its matrix."""
        told = (event["msg"] for event in self.events if event.get("jobID") == job and _printed(event, step))
        return "".join(told)

    def summary(self, job: str) -> str:
        """The Markdown that the job's steps left for the run's page."""
        return "".join(event["content"] for event in self.events if _summary(event) and event["jobID"] == job)

    def passed(self, job: str, step: str) -> bool:
        """Whether that step of the job was run and succeeded."""
        of_it = (event for event in self.events if (event.get("jobID"), event.get("step")) == (job, step))
        return [event["stepResult"] for event in of_it if "stepResult" in event] == ["success"]

    def ran(self, job: str) -> bool:
        """Whether any step of the job was begun."""
        return any(event.get("jobID") == job and event.get("stage") == "Main" for event in self.events)


@dataclass(frozen=True, slots=True)
class Machines:
    """What runs the jobs: ``labels``, beside GitHub's own, that have a runner, and what its environment has.

    ``told`` are variables that every step has, ``secrets`` those of the repository, ``event`` what starts the workflow.
    """

    labels: Sequence[str]
    environment: Mapping[str, str]
    told: Mapping[str, str]
    secrets: Mapping[str, str]
    event: str = "push"


def run(repository: Repository, machines: Machines) -> Ran:
    """Start the workflow on the repository's commit; all that comes of it lies beside the repository."""
    folder = repository.folder.parent
    (folder / "artifacts").mkdir()
    repository.commit()
    told = {"STAND_IN_STORE": str(folder / "artifacts"), **machines.told}
    secrets = {"GITHUB_TOKEN": "no-token-at-all", **machines.secrets}
    command = [str(Path(sys.executable).parent / "act"), machines.event, "-W", str(repository.workflow)]
    command += ["--json", "--no-cache-server"]
    command += [word for label in (HOSTED, *machines.labels) for word in ("-P", f"{label}=-self-hosted")]
    command += [word for name, value in told.items() for word in ("--env", f"{name}={value}")]
    command += [word for name, value in secrets.items() for word in ("--secret", f"{name}={value}")]
    command += [word for each in remembered(repository.read_workflow()) for word in ("--var", each)]
    command += [word for place in _stand_ins() for word in ("--local-repository", place)]
    done = subprocess.run(
        command,
        cwd=repository.folder,
        env={**_bare(folder), **machines.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=800,
    )
    ran = Ran(folder, tuple(_events(done.stdout)))
    assert ran.ran("plan"), done.stdout.decode(errors="replace")
    _keep(ran)
    shutil.rmtree(folder / "home")
    return ran


def _bare(folder: Path) -> dict[str, str]:
    """As little as a job may count on: what a fresh Debian has, and a home of its own."""
    home = folder / "home"
    home.mkdir()
    return {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8", "ACT_DISABLE_VERSION_CHECK": "1"}


def _stand_ins() -> Iterator[str]:
    actions = load_actions()
    for place in sorted(HERE.glob("actions/*")):
        yield f"actions/{place.name}@{actions[f'actions/{place.name}'].commit}={place}"


def _events(output: bytes) -> Iterator[Json]:
    for line in output.decode(errors="replace").splitlines():
        yield json.loads(line) if line.startswith("{") else {"msg": line}


def _printed(event: Json, step: str) -> bool:
    command = event.get("command") in {"error", "warning", "notice"}
    return (bool(event.get("raw_output")) or command) and step in {"", event.get("step")}


def _summary(event: Json) -> bool:
    return event.get("command") == "summary"


def _keep(ran: Ran) -> None:
    """The logs as people read them, and each job's summary: what somebody wants to see when a test failed."""
    lines = (f"[{event.get('jobID', '')}] {event['msg'].rstrip()}\n" for event in ran.events)
    (ran.folder / "act.log").write_text("".join(lines), encoding="utf-8")
    for job in dict.fromkeys(event["jobID"] for event in ran.events if _summary(event)):
        (ran.folder / f"summary-{job}.md").write_text(ran.summary(job), encoding="utf-8")
