"""The situations: what each does to a healthy repository, its workflow or its runners, and what the gate must say."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.e2e.street import SERVE
from tests.gpu import made as forged
from tests.gpu import standin
from tests.workflow_runs import edits
from tests.workflow_runs.gpu import IMAGE, TARGET, gpu_lane
from tests.workflow_runs.repository import lane

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.workflow_runs.repository import Json, Repository

TODAY = datetime.now(UTC).date()


def as_it_is(_: object) -> None:
    """Change nothing."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One run of a workflow of that ``kind``.

    ``says`` are words that the job ``where`` must print or leave in its summary. ``prepare`` changes the repository
    after its workflow was rendered, ``edit`` the workflow, ``meddle`` the artifacts (a word of ``meddler``).
    ``gpu`` is what the GPU runner's driver answers, "none" for a runner without a GPU and "unserved" where there is
    no such runner; with ``asks`` the plan may ask GitHub for its runners. ``installs`` is the job for which pip
    installs cubingate.
    """

    says: tuple[str, ...] = ()
    where: str = "gate"
    publishes: bool = False
    lanes: tuple[Json, ...] = (lane("good"), gpu_lane())
    sections: Json = field(default_factory=dict)
    image: bytes = IMAGE
    prepare: Callable[[Repository], None] = as_it_is
    edit: Callable[[Json], None] = as_it_is
    meddle: str = ""
    gpu: str = standin.SUCCESS
    asks: bool = False
    installs: str = ""
    kind: str = "release"


def waived_until(day: int) -> Json:
    """The load check is waived until so many days from today."""
    expires = (TODAY + timedelta(days=day)).isoformat()
    words = {"reason": "the runner is in repair", "owner": "ops@example.org", "expires": expires}
    return {"waivers": [{"lane": "gpu", "check": f"load@{TARGET}", **words}]}


def other_bundle(repository: Repository) -> None:
    """What was to be fetched is no longer what matrix.yaml pins."""
    with next(repository.folder.glob("good-*.tar.gz")).open("ab") as file:
        file.write(b"\n")


def passes_of_before(repository: Repository) -> None:
    """Commit the records of a commit at which everything passed, then make the server answer wrongly."""
    repository.cubingate("run", "--lane", "good")
    for room in ("cache", "lanes"):
        shutil.rmtree(repository.folder / ".cubingate" / room)
    matrix = repository.folder / "matrix.yaml"
    words = matrix.read_text(encoding="utf-8")
    assert words.count("    - '{model}'\n") == 1
    matrix.write_text(
        words.replace("    - '{model}'\n", "    - '{model}'\n    - --fail\n    - wrong-token\n"), encoding="utf-8"
    )


def smoke(*more: str) -> dict[str, Any]:
    """The section with the fixture server's command, and more words for it."""
    return {"fixture": {"command": [*SERVE, *more], "ready_timeout": 10, "token_timeout": 3, "stop_timeout": 2}}


MISSING_LOAD = f"load@{TARGET} missing"
NOT_AS_SEALED = "is not what artifact lane-good was sealed with"
NOT_THE_JOBS = "artifact lane-good is not what its job sealed"
GOOD = {
    "all good": Situation(("2 of 2 lanes approved",), publishes=True, installs="plan"),
    "a waiver in force": Situation(
        ("2 of 2 lanes approved", "by ops@example.org"), publishes=True, gpu="none", sections=waived_until(1)
    ),
}
# What a lane is or what came of it.
LANES = {
    "a lane that does not build": Situation(("good is refused", "not built"), prepare=other_bundle),
    "the audit fails": Situation(
        ("gpu is refused", "audit failed: arch-missing"),
        image=forged.fatbin(forged.cubin("89")),
        gpu=standin.NO_BINARY,
    ),
    "the smoke fails": Situation(
        ("good is refused", "smoke@cpu failed: expected-token"), sections={"smoke": smoke("--fail", "wrong-token")}
    ),
    "the driver does not load it": Situation(("gpu is refused", f"load@{TARGET} failed"), gpu=standin.NO_BINARY),
    "an expired waiver": Situation(("gpu is refused", "expired on"), gpu="none", sections=waived_until(-1)),
    "passes of another commit": Situation(
        ("good is refused", "smoke@cpu failed: expected-token"), prepare=passes_of_before
    ),
}
# Jobs that did not do their work.
JOBS = {
    "build is skipped": Situation(("good is refused", "gpu is refused", "not built"), edit=edits.never("build")),
    "prove is skipped": Situation(("gpu is refused", MISSING_LOAD), edit=edits.never("prove")),
    "the gate is skipped": Situation(edit=edits.never("gate")),
    "the gate is not listened to": Situation(
        ("nothing published: it takes all lanes or none; refused: gpu",),
        where="publish",
        gpu=standin.NO_BINARY,
        edit=edits.deaf,
    ),
    "a build job is cancelled": Situation(("good is refused", "not built"), edit=edits.ends_early),
    "a lane that no job was told of": Situation(
        ("new is refused", "not built"),
        lanes=(lane("good"), gpu_lane(), lane("new")),
        edit=edits.only("good", "gpu"),
    ),
    "a runner without its GPU": Situation(("gpu is refused", MISSING_LOAD), gpu="none"),
    "a label that nobody serves": Situation(("gpu is refused", MISSING_LOAD), gpu="unserved"),
    "a label that GitHub knows no runner of": Situation(
        ("nobody has a runner with the labels self-hosted, h200",), where="plan", gpu="unserved", asks=True
    ),
}
# What happened to artifacts between two jobs.
ARTIFACTS = {
    "a bundle is replaced": Situation((f"good-1.0-linux-x86_64.tar.gz {NOT_AS_SEALED}",), meddle="bundle"),
    "a bundle is replaced and sealed": Situation((NOT_THE_JOBS,), meddle="resealed-bundle"),
    "a bundle is replaced after the gate": Situation((NOT_THE_JOBS,), where="publish", meddle="bundle-after-the-gate"),
    "evidence is replaced": Situation(("/smoke@cpu/", NOT_AS_SEALED), meddle="evidence"),
    "a tool is planted": Situation(("cache/tools/ptxas came with no seal",), meddle="tool"),
    "an artifact of another commit": Situation((NOT_THE_JOBS,), meddle="other-commit"),
    "the artifact of a lane vanishes": Situation(("lane_good: never came", "good is refused"), meddle="lane-gone"),
    "the evidence of a GPU vanishes": Situation(
        ("prove_sm90_580_159_04: never came", "gpu is refused", MISSING_LOAD), meddle="proof-gone"
    ),
    "a GPU runner says more than a GPU can": Situation(
        ("artifact prove-sm90-580.159.04 brings", "which is not for it to bring"),
        sections={"smoke": smoke("--fail", "wrong-token")},
        edit=edits.forged_proof,
    ),
}
# What pull requests and the night start; neither publishes. The first lane asks for a runner that nobody has.
PULL_REQUESTS = {
    "a good pull request": Situation(kind="pull-request", lanes=(lane("good", runner=["self-hosted", "mine"]),)),
    "a pull request whose smoke fails": Situation(
        kind="pull-request", lanes=(lane("good"),), sections={"smoke": smoke("--fail", "wrong-token")}
    ),
    "a pull request that skips its build": Situation(
        kind="pull-request", lanes=(lane("good"),), edit=edits.never("build")
    ),
}
NIGHTS = {
    "a good night": Situation(
        ("2 of 2 lanes approved",), kind="nightly", lanes=(lane("good"), gpu_lane() | {"on_demand": True})
    )
}
RELEASES = GOOD | LANES | JOBS | ARTIFACTS
SITUATIONS = RELEASES | PULL_REQUESTS | NIGHTS
