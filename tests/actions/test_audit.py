"""The composite action, run for real by act: verdicts, reports and statuses; and inputs that must stay inputs."""

from __future__ import annotations

import json
import re
import tarfile
from typing import Any

import pytest

from pipeline.workflow.actions import load_actions
from tests.actions.act import ACTION, ROOT, Ran, run
from tests.rules.forge import Elf, build, container

pytestmark = pytest.mark.network

MATRIX = """\
version: 1
bundle: {name: product, version: "1"}
sources: {product: {file: bad.tar.gz, sha256: "%s"}}
smoke: {server: {preset: openai}}
defaults: {source: product, smoke: server}
matrix:
  include:
    - {id: cuda13, flavour: cuda, driver_floor: "550", targets: [80@550]}
""" % (64 * "0")
# As an attacker would fill in what a workflow takes from a title or a branch; each would make the file.
HOSTILE = {
    "PATHS": '$(touch "$CANARY") `touch "$CANARY"`\n"; touch "$CANARY"; "\n\'; touch "$CANARY"; \'\n--output=%s',
    "TARGETS": '80@580;touch"$CANARY" $(touch${IFS}"$CANARY") --output=%s',
    "LANE": '"; touch "$CANARY"; $(touch "$CANARY")',
}


def step(name: str, **inputs: str) -> dict[str, Any]:
    return {"id": name, "uses": ACTION, "with": {key.replace("_", "-"): value for key, value in inputs.items()}}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One job with a step for each situation: the environment is made once."""
    folder = tmp_path_factory.mktemp("act")
    repository = folder / "repository"
    library = build(Elf("libk.so", [container("13.0", "80")]), repository / "a b")
    odd = repository / "odd" / "::error title=pwned::by a name"
    odd.mkdir(parents=True)
    library.rename(odd / "libk.so")
    build(Elf("libk.so", [container("13.0", "80")]), repository / "a b")
    with tarfile.open(repository / "bad.tar.gz", "w:gz") as tar:
        tar.add(repository / "a b" / "libk.so", "product-1/lib/libk.so")
    (repository / "cut.so").write_bytes((repository / "a b" / "libk.so").read_bytes()[:-300])
    (repository / "text.txt").write_text("nothing\n")
    (repository / "matrix.yaml").write_text(MATRIX)
    canary = folder / "canary"
    # A repository's own module of that name must not be what is run.
    (repository / "pipeline").mkdir()
    (repository / "pipeline" / "__init__.py").write_text(f"open({str(canary)!r}, 'w').close()\n")
    environment = {name: text.replace("%s", str(canary)) for name, text in HOSTILE.items()}
    steps = [
        step("good", path="a b/libk.so", targets="80@580 86@580.65.06"),
        step("bad", path="bad.tar.gz", matrix="matrix.yaml", lane="cuda13", upload_sarif="true"),
        step("told", path="bad.tar.gz", targets="80@550", fail_on="error"),
        step("cut", path="cut.so", targets="80@580", fail_on="error"),
        step("nothing", path="text.txt", targets="80@580", fail_on="error"),
        step("absent", path="*.whl", targets="80@580"),
        step("pattern", path="a*/**/*.so", targets="80@580"),
        step("odd", path="odd", targets="80@550"),
        step("paths", path="${{ env.PATHS }}", targets="80@580"),
        step("targets", path="bad.tar.gz", targets="${{ env.TARGETS }}"),
        step("lane", path="bad.tar.gz", matrix="matrix.yaml", lane="${{ env.LANE }}"),
    ]
    return run(folder, repository, steps, {"CANARY": str(canary), "PYTHONPATH": str(repository), **environment})


def outputs(ran: Ran, name: str) -> dict[str, str]:
    told: dict[str, str] = ran.steps[name]["outputs"]
    return told


def log_of(ran: Ran, name: str) -> str:
    """The part of the log between the records of the step before and of this one."""
    ends = [f'> "$RESULTS/{step}.step"' for step in ran.steps]
    assert f'> "$RESULTS/{name}.step"' in ends
    before, _, _ = ran.log.partition(f'printf %s "$STEP" > "$RESULTS/{name}.step"')
    return before.rpartition("Success - Main printf %s")[2]


def test_a_good_artifact_passes(ran: Ran) -> None:
    assert ran.steps["good"]["outcome"] == "success", ran.log
    told = outputs(ran, "good")
    assert (told["verdict"], told["status"], told["minimum-driver"]) == ("pass", "0", "580.65.06")
    (folder,) = (ran.results / "good").iterdir()
    assert json.loads((folder / "audit.json").read_text())["verdict"] == "pass"
    assert json.loads((folder / "audit.sarif").read_text())["version"] == "2.1.0"
    assert told["sarif"].endswith(f"{folder.name}/audit.sarif")
    assert "### " in log_of(ran, "good")
    assert "::error" not in log_of(ran, "good")


def test_a_bad_artifact_is_status_1_with_annotations_at_the_lane(ran: Ran) -> None:
    assert ran.steps["bad"]["outcome"] == "failure"
    assert (outputs(ran, "bad")["verdict"], outputs(ran, "bad")["status"]) == ("fail", "1")
    assert "::error file=matrix.yaml,line=8,col=" in log_of(ran, "bad")
    assert "exit status 1" in log_of(ran, "bad")
    assert "toolkit-major" in log_of(ran, "bad").partition("Summary - ")[2]


def test_sarif_is_uploaded_where_it_is_asked_for_also_of_a_failure(ran: Ran) -> None:
    uploaded = json.loads((ran.results / "uploaded.sarif").read_text())
    (folder,) = (ran.results / "bad").iterdir()
    assert uploaded == json.loads((folder / "audit.sarif").read_text())
    assert uploaded["runs"][0]["results"]


def test_a_refusal_may_be_left_to_the_workflow(ran: Ran) -> None:
    assert ran.steps["told"]["outcome"] == "success"
    assert (outputs(ran, "told")["verdict"], outputs(ran, "told")["status"]) == ("fail", "1")


@pytest.mark.parametrize(("name", "status", "verdict"), [("cut", "5", "fail"), ("nothing", "3", "error")])
def test_what_could_not_be_judged_fails_the_step_in_any_case(ran: Ran, name: str, status: str, verdict: str) -> None:
    assert ran.steps[name]["outcome"] == "failure"
    assert (outputs(ran, name)["verdict"], outputs(ran, name)["status"]) == (verdict, status)
    assert f"exit status {status}" in log_of(ran, name)


def test_a_pattern_stands_for_its_files_and_never_for_none(ran: Ran) -> None:
    assert outputs(ran, "pattern")["verdict"] == "pass"
    assert outputs(ran, "absent")["status"] == "2"
    assert "no file fits '*.whl'" in log_of(ran, "absent")


def test_names_in_an_artifact_are_no_commands(ran: Ran) -> None:
    assert outputs(ran, "odd")["status"] == "1"
    assert "at: odd!/::error title=pwned::by a name/libk.so" in log_of(ran, "odd")
    assert not re.search(r"❗\s+::error title=pwned", ran.log)


@pytest.mark.parametrize("name", ["paths", "targets", "lane"])
def test_hostile_inputs_are_inputs(ran: Ran, name: str) -> None:
    assert ran.steps[name]["outcome"] == "failure"
    assert (outputs(ran, name)["verdict"], outputs(ran, name)["status"]) == ("error", "2")


def test_nothing_was_executed_nor_written_that_an_input_asked_for(ran: Ran) -> None:
    assert not (ran.results.parent / "canary").exists()


def test_the_action_has_every_input_from_the_environment() -> None:
    import yaml

    action = yaml.safe_load((ROOT / ".github/actions/audit/action.yml").read_text(encoding="utf-8"))
    for each in action["runs"]["steps"]:
        assert "${{" not in each.get("run", "")
    assert set(action["outputs"]) == {"verdict", "status", "minimum-driver", "json", "sarif"}
    assert action["inputs"]["upload-sarif"]["default"] == "false"


def test_what_the_action_and_its_page_use_is_in_the_table() -> None:
    actions = load_actions()
    for file in (".github/actions/audit/action.yml", "docs/action.md", "README.md"):
        text = (ROOT / file).read_text(encoding="utf-8")
        used = re.findall(r"uses: ([\w.-]+/[\w.-]+)(\S*)@([0-9a-f]{40})(?: # (\S+))?", text)
        assert used or file == "README.md"
        for name, _, commit, version in used:
            if name == "OWNER/cubingate":
                assert commit == 40 * "0"
            else:
                assert (actions[name].commit, actions[name].version) == (commit, version)
