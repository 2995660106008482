"""The called workflow run by act, from a repository that calls it: all good is published, a bad lane is not.

As in ``tests/workflow_runs``, whose stand-ins are used here. Edited for act, besides: it has no ``strategy.job-index``,
and takes a called workflow from the caller's own tree.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from tests.actions.test_gate import GATE
from tests.gpu import made as forged
from tests.gpu import standin
from tests.scaffold.repositories import cubingate
from tests.workflow_runs import act, edits, github, gpu
from tests.workflow_runs.repository import Repository, lane, make

if TYPE_CHECKING:
    from pathlib import Path


LONG_AGO = "2026-01-01T00:00:00Z"


class Calling(Repository):
    """A repository whose release workflow calls the gate, as ``init`` writes it."""

    @property
    def gate(self) -> Path:
        """The called workflow, here in the caller's own tree."""
        return self.workflow.with_name("gate.yml")

    def read_workflow(self) -> dict[str, Any]:
        """The called workflow: its outputs are what act has to be told of."""
        content: dict[str, Any] = yaml.safe_load(self.gate.read_text(encoding="utf-8"))
        return _with_text_keys(content)


def calling(folder: Path, lanes: list[dict[str, Any]]) -> Calling:
    """A repository of these lanes; its workflows are what is released here, edited for act."""
    folder.mkdir()
    library = forged.library(folder / "libk.so", [gpu.IMAGE])
    plain = make(folder, lanes, {"targets": gpu.TARGETS}, {"gpu": {"lib/libk.so": library}})
    made = Calling(plain.folder, plain.dist)
    text = GATE.read_text(encoding="utf-8")
    legs = [*enumerate(lane["id"] for lane in lanes), (0, gpu.RUN)]
    numbers = " || ".join(f"(matrix.id == '{name}' && '{number}')" for number, name in legs)
    text = text.replace("${{ strategy.job-index }}", f"${{{{ {numbers} }}}}")
    # As many slots as there are lanes: act is told of each by a variable.
    text = re.sub(r"^ +slot_(?![0-3]:)\d+: .*\n", "", text, flags=re.MULTILINE)
    made.gate.write_text(text, encoding="utf-8")
    gate = made.read_workflow()
    edits.for_act(gate)
    edits.use_this_tree(gate, folder)
    made.gate.write_text(yaml.safe_dump(gate, sort_keys=False, width=10_000), encoding="utf-8")
    written = folder / "written"
    written.mkdir()
    assert cubingate(written, "init", "--kind", "cpp").returncode == 0
    caller = yaml.safe_load((written / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    caller["jobs"]["gate"]["uses"] = "./.github/workflows/gate.yml"
    made.write_workflow(_with_text_keys(caller) | {"on": {"push": {}}})
    return made


def _with_text_keys(workflow: dict[Any, Any]) -> dict[str, Any]:
    """YAML 1.1 reads the key ``on`` as a truth value."""
    return {"on" if key is True else key: value for key, value in workflow.items()}


def run(made: Calling, driver: Path | None = None, **inputs: object) -> act.Ran:
    """Call the gate with these inputs; with a stand-in ``driver`` there is a runner with a GPU."""
    caller = yaml.safe_load(made.workflow.read_text(encoding="utf-8"))
    caller["jobs"]["gate"]["with"] |= inputs
    made.write_workflow(caller)
    # GitHub lists a job of a called workflow behind the name of the job that calls.
    ended = {"name": f"gate / prove on {gpu.RUN}", "status": "completed", "labels": [], "created_at": LONG_AGO}
    folder = made.folder.parent
    environment = gpu.runner(standin.StandIn(driver, folder), gpu.IMAGE, standin.SUCCESS) if driver else {}
    with github.served([ended]) as api:
        return act.run(made, act.Machines(gpu.LABELS, environment, {"GITHUB_API_URL": api.address}, {}))


def published(made: Calling) -> list[str]:
    return sorted(path.name for path in made.dist.glob("*.tar.gz")) if made.dist.exists() else []


def test_what_is_good_is_published(tmp_path: Path) -> None:
    made = calling(tmp_path / "run", [lane("one"), gpu.gpu_lane()])
    ran = run(made, standin.build(tmp_path / "driver"))
    assert published(made) == ["gpu-1.0-linux-x86_64.tar.gz", "one-1.0-linux-x86_64.tar.gz"]
    assert "2 of 2 lanes approved" in ran.summary("gate")
    for name in ("lane-one", "lane-gpu", f"prove-{gpu.RUN}"):
        assert re.search(rf"{name}: \d+ files as they were sealed", ran.said("publish"))
    assert ran.ran("watch")


def test_one_bad_lane_publishes_nothing(tmp_path: Path) -> None:
    made = calling(tmp_path / "run", [lane("one"), lane("two.2")])
    with next(made.folder.glob("two.2-*.tar.gz")).open("ab") as file:
        file.write(b"\n")
    ran = run(made)
    assert published(made) == []
    assert not ran.ran("publish")
    assert "two.2" in ran.summary("gate")


def test_hostile_inputs_are_inputs(tmp_path: Path) -> None:
    made = calling(tmp_path / "run", [lane("one")])
    canary = tmp_path / "canary"
    hostile = f'"; touch {canary}; $(touch {canary}) `touch {canary}` --output={canary} '
    ran = run(made, lanes=f"one {hostile}", matrix="matrix.yaml", published=hostile)
    assert not canary.exists()
    assert published(made) == []
    assert "argument --lane: expected one argument" in ran.said("plan")
    assert not ran.ran("build")
