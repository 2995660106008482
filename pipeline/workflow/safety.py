"""What every workflow is held against: a function for each property, from the file to what violates it.

To add a property, write a function from ``Document`` and the pinned actions to violations and add it to ``PROPERTIES``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.workflow.document import expressions, read_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.workflow.actions import Known
    from pipeline.workflow.document import Document, Job

_UNTRUSTED = {"pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment"}
"""Triggers that run what a stranger wrote."""
_BORROWED = {"pull_request_target", "workflow_run", "issue_comment"}
"""Triggers that give a stranger's words the repository's own rights."""
_PINNED = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(?P<path>/[\w./-]+)?@(?P<commit>[0-9a-f]{40})", re.ASCII)
_SECRET = re.compile(r"\b(secrets\b|github\s*(\.\s*token|\[))", re.IGNORECASE)
_WHOLE_CONTEXT = re.compile(r"(?<![\w.-])github\b(?!\s*\.\s*\w)", re.IGNORECASE)
"""The context ``github`` as a value: the token is part of it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Where a file lacks ``property``, and how."""

    property: str
    what: str


def permissions_are_empty(document: Document, _: Known) -> Iterator[str]:
    """By default a token may do nothing; each job names what it needs."""
    if document.jobs and document.permissions != {}:
        yield "`permissions` is not {} at the top"
    yield from (f"job {job.id} names no permissions" for job in document.jobs if job.permissions is None)


def writing_is_guarded(document: Document, known: Known) -> Iterator[str]:
    """Only a job behind an environment, on GitHub's own machine, may write; one that may only cancel runs may too."""
    for job in document.jobs:
        writes = {name for name, level in (job.permissions or {}).items() if level == "write"}
        if writes <= {"actions"} and job.hosted(known.hosted):
            continue
        if "uses" in job.content:  # it lends them to the jobs of a workflow, which is held against the same
            continue
        if writes and not (job.environment and job.hosted(known.hosted)):
            yield f"job {job.id} may write {', '.join(sorted(writes))} without an environment on a hosted runner"


def secrets_stay_hosted(document: Document, known: Known) -> Iterator[str]:
    """No secret reaches a runner that is not thrown away afterwards, and none a workflow that strangers start."""
    for job in document.jobs:
        if _has_secret(job.text) and not (job.hosted(known.hosted) and not _UNTRUSTED & set(document.triggers)):
            yield f"job {job.id} has a secret"
    if _has_secret(str(document.content.get("env", ""))):
        yield "all jobs have a secret"


def _has_secret(text: str) -> bool:
    return bool(_SECRET.search(text)) or any(map(_WHOLE_CONTEXT.search, expressions(text)))


def strangers_stay_outside(document: Document, known: Known) -> Iterator[str]:
    """What a pull request brings runs on GitHub's own machines, and starts nothing that has the repository's rights."""
    yield from (f"it is started by {each}" for each in document.triggers if each in _BORROWED)
    if _UNTRUSTED & set(document.triggers):
        yield from (
            f"job {job.id} may run on other than a hosted runner"
            for job in document.jobs
            if not job.hosted(known.hosted)
        )


def scripts_are_constant(document: Document, _: Known) -> Iterator[str]:
    """No expression is part of a script: values come through ``env``."""
    for step in document.steps:
        scripts = [
            step.run,
            str(step.content.get("shell", "")),
            str(step.inputs.get("script", "")),
        ]
        if any("${{" in script for script in scripts):
            yield f"{step.place}: an expression is part of a script"


def actions_are_pinned(document: Document, known: Known) -> Iterator[str]:
    """Every action is pinned by a commit that a cited public workflow uses, or is of the cubingate that is trusted."""
    for step in document.calls:
        if step.uses.startswith("./"):
            continue
        found = _PINNED.fullmatch(step.uses)
        if found is None:
            yield f"{step.place}: {step.uses} is not pinned by a commit"
        elif not found["commit"].strip("0"):
            yield f"{step.place}: no source for {step.uses}: a placeholder, write the commit that you trust"
        elif f"{found['name']}@{found['commit']}" == known.cubingate:
            continue
        elif (row := known.actions.get(found["name"])) is None or row.commit != found["commit"]:
            yield f"{step.place}: no source for {step.uses}"


def time_is_bounded(document: Document, _: Known) -> Iterator[str]:
    """Every job has a timeout."""
    for job in document.jobs:
        if "timeout-minutes" not in job.content and "uses" not in job.content:
            yield f"job {job.id} has no timeout"


def runs_do_not_overlap(document: Document, _: Known) -> Iterator[str]:
    """A concurrency group; a workflow that others call has its caller's."""
    if document.jobs and set(document.triggers) != {"workflow_call"} and "concurrency" not in document.content:
        yield "there is no concurrency group"


def credentials_are_dropped(document: Document, _: Known) -> Iterator[str]:
    """A checkout leaves no token behind."""
    for step in document.steps:
        kept = step.inputs.get("persist-credentials")
        if step.is_action("actions/checkout") and kept is not False:
            yield f"{step.place}: the checkout keeps its credentials"


def artifacts_are_sealed(document: Document, _: Known) -> Iterator[str]:
    """What is downloaded is held against the digests of the jobs that made it before anything else happens."""
    for job in document.jobs:
        waiting = False
        for step in job.steps:
            if step.is_action("actions/download-artifact"):
                waiting = True
            elif _compares(step.run) and step.decides and "needs." in str(step.content.get("env", "")):
                waiting = False
            elif waiting:
                break
        if waiting:
            yield f"job {job.id} uses an artifact that nothing was held against"


def _compares(script: str) -> bool:
    return "workflow --unseal" in script or "sha256sum --check --strict" in script


def the_gate_decides(document: Document, _: Known) -> Iterator[str]:
    """Whatever publishes waits for the yes of a gate that always runs, looks at every other job, and fails for a no."""
    judging = {job.id: [step for step in job.steps if "cubingate gate" in step.run] for job in document.jobs}
    gates = {job.id: job for job in document.jobs if judging[job.id]}
    publishing = [job for job in document.jobs if any("cubingate publish" in step.run for step in job.steps)]
    for gate in gates.values():
        if gate.condition != "always()":
            yield f"job {gate.id} can be skipped"
        if gate.may_fail or not all(step.decides for step in judging[gate.id]):
            yield f"job {gate.id} may succeed although the gate says no"
        others = {job.id for job in document.jobs if job not in publishing} - {gate.id}
        yield from (f"job {gate.id} does not wait for {other}" for other in sorted(others - set(gate.needs)))
    for job in publishing:
        asked = [name for name in job.needs if name in gates]
        if not asked or (job.condition and not _demands(job, asked[0])):
            yield f"job {job.id} does not demand the gate's yes"


def _demands(job: Job, gate: str) -> bool:
    parts = [part.strip() for part in job.condition.split("&&")]
    return f"needs.{gate}.result == 'success'" in parts and "||" not in job.condition


def publications_are_attested(document: Document, _: Known) -> Iterator[str]:
    """What is published is attested before, with the workflow's own identity."""
    for job in document.jobs:
        places = [place for place, step in enumerate(job.steps) if _publishes(step.run)]
        attested = [place for place, step in enumerate(job.steps) if step.uses.startswith("actions/attest")]
        if places and not (attested and attested[0] < places[0] and (job.permissions or {}).get("id-token") == "write"):
            yield f"job {job.id} publishes what was not attested"


def _publishes(script: str) -> bool:
    lines = [line for line in script.splitlines() if "cubingate publish" in line]
    return any("--dry-run" not in line and "--preflight" not in line for line in lines)


PROPERTIES: tuple[Callable[[Document, Known], Iterator[str]], ...] = (
    permissions_are_empty,
    writing_is_guarded,
    secrets_stay_hosted,
    strangers_stay_outside,
    scripts_are_constant,
    actions_are_pinned,
    time_is_bounded,
    runs_do_not_overlap,
    credentials_are_dropped,
    artifacts_are_sealed,
    the_gate_decides,
    publications_are_attested,
)


def violations(text: str, known: Known) -> tuple[Violation, ...]:
    """Everything in a workflow or action file that lacks a property; ``UsageError`` when it is neither."""
    document = read_document(text)
    return tuple(
        Violation(look.__name__.replace("_", "-"), what) for look in PROPERTIES for what in look(document, known)
    )
