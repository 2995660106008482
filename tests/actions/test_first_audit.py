"""What ``init`` writes for an image, run by act as it is: the image is built, saved, audited as its lane."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.actions.act import ACTION, run
from tests.rules.forge import Elf, build, container
from tests.scaffold.repositories import cubingate

if TYPE_CHECKING:
    from pathlib import Path

DOCKERFILE = "FROM scratch\nCOPY libk.so /opt/lib/libk.so\n"


@pytest.mark.docker
@pytest.mark.network
def test_the_workflow_of_an_image(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    build(Elf("libk.so", [container("12.0", "80 90")], needed=[]), repository)
    build(Elf("libk.so", [container("13.0", "80 90")], needed=[]), repository / "newer")
    (repository / "Dockerfile").write_text(DOCKERFILE)
    assert cubingate(repository, "init").returncode == 0
    workflow = repository / ".github/workflows/audit.yml"
    (job,) = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
    workflow.unlink()
    checkout, *steps = job["steps"]
    assert checkout["uses"].startswith("actions/checkout@")
    assert steps[-1]["uses"] == ACTION
    # One job for both, so that cubingate is installed once.
    change = {"id": "change", "shell": "bash", "run": "cp newer/libk.so libk.so"}
    healthy, ill = ([{"id": f"{name}{place}", **step} for place, step in enumerate(steps)] for name in ("good", "bad"))
    try:
        ran = run(tmp_path, repository, [*healthy, change, *ill], {})
    finally:
        subprocess.run(["docker", "image", "rm", "--force", "candidate"], check=False, capture_output=True)
    outcomes = [ran.steps[step["id"]]["outcome"] for step in (*healthy, *ill)]
    assert outcomes == ["success", "success", "success", "success", "success", "failure"], ran.log
    for name, verdict in (("good2", "pass"), ("bad2", "fail")):
        (folder,) = (ran.results / name).iterdir()
        targets = json.loads((folder / "audit.json").read_text(encoding="utf-8"))["targets"]
        told = [(target["sm"], target["driver"], target["verdict"]) for target in targets]
        assert told == [("80", "535.288.01", verdict), ("90", "535.288.01", verdict)]
