"""``cubingate workflow``: printed, or compared with what is committed."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import pytest

from pipeline import __version__
from pipeline.cli import run
from pipeline.commands import workflow
from pipeline.stages.seal import Maker
from pipeline.workflow.render import Kind
from tests.matrix.files import CPU, CUDA, HEAD, write

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("release", "pull-request", "nightly")


@pytest.fixture(autouse=True)
def _keep_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    return write(tmp_path, f"{HEAD}matrix: {{include: [{CPU}]}}")


def committed(matrix: Path) -> Path:
    """The folder with the three workflows of ``matrix``."""
    folder = matrix.parent / ".github" / "workflows"
    folder.mkdir(parents=True)
    for kind in KINDS:
        assert run(["workflow", "--matrix", str(matrix), "--kind", kind, "--output", str(folder / f"{kind}.yml")]) == 0
    return folder


def test_the_workflows_of_this_repository_are_fresh_and_safe(capsys: pytest.CaptureFixture[str]) -> None:
    status = run(["workflow", "--matrix", str(ROOT / "matrix.yaml"), "--install", ".", "--check"])
    assert (status, capsys.readouterr()) == (0, ("", ""))


def test_they_print_the_release_by_default(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workflow", "--matrix", str(matrix)]) == 0
    printed = capsys.readouterr().out
    assert "\nname: release\n" in printed
    assert run(["workflow", "--matrix", str(matrix), "--kind", "release"]) == 0
    assert capsys.readouterr().out == printed


def test_a_lane_more_makes_a_committed_file_stale(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    committed(matrix)
    assert run(["workflow", "--matrix", str(matrix), "--check"]) == 0
    write(matrix.parent, f"{HEAD}matrix: {{include: [{CPU}, {CUDA}]}}")
    capsys.readouterr()
    assert run(["workflow", "--matrix", str(matrix), "--check"]) == 1
    assert "\n+      lane_cuda12_8_sm80: " in capsys.readouterr().out
    assert run(["workflow", "--matrix", str(matrix), "--check", "--kind", "pull-request"]) == 0


def test_an_edit_by_hand_is_shown(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = committed(matrix) / "release.yml"
    release.write_text(release.read_text(encoding="utf-8").replace("350", "351"), encoding="utf-8")
    assert run(["workflow", "--matrix", str(matrix), "--check"]) == 1
    assert "-    timeout-minutes: 351\n+    timeout-minutes: 350\n" in capsys.readouterr().out


def test_another_requirement_is_told_with_what_to_write(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = committed(matrix) / "release.yml"
    assert run(["workflow", "--matrix", str(matrix), "--install", "./here", "--output", str(release)]) == 0
    assert run(["workflow", "--matrix", str(matrix), "--check", "--kind", "release"]) == 1
    assert (
        f"installs ./here, not cubingate=={__version__}: give --check the --install it has" in capsys.readouterr().err
    )
    assert run(["workflow", "--matrix", str(matrix), "--check", "--kind", "release", "--install", "./here"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("step", "words", "status"),
    [
        ("{run: make}", [], 0),
        ("{run: make}", ["--strict"], 1),
        ("{run: cubingate audit out.tar.gz}", [], 1),
        ("{uses: ours/cubingate/.github/actions/audit@v1}", [], 1),
    ],
    ids=["not ours", "not ours, strictly", "runs it", "calls its action"],
)
def test_a_workflow_beside_them_that_is_unsafe_is_told_and_refused_where_it_uses_this(
    matrix: Path, step: str, words: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    other = committed(matrix) / "other.yaml"
    steps = f"[{{uses: actions/checkout@v6}}, {step}]"
    other.write_text(f"on: push\njobs: {{a: {{runs-on: a30, steps: {steps}}}}}\n", encoding="utf-8")
    assert run(["workflow", "--matrix", str(matrix), "--check", *words]) == status
    told = capsys.readouterr()
    assert told.out == ""
    assert "actions/checkout@v6 is not pinned by a commit (actions-are-pinned)" in told.err
    assert ("not refused, since it does not use cubingate: " in told.err) is (status == 0)


@pytest.mark.parametrize("content", [b"# \xe9\non: push\njobs: {}\n", b"on: 2026-02-31\n", b"name: x\n"])
def test_a_file_that_is_no_workflow_is_named(matrix: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (committed(matrix) / "other.yml").write_bytes(content)
    assert run(["workflow", "--matrix", str(matrix), "--check"]) == 2
    assert "other.yml: " in capsys.readouterr().err


def test_line_endings_are_no_edit(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Git on Windows may write them into the working tree."""
    for file in committed(matrix).iterdir():
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert (run(["workflow", "--matrix", str(matrix), "--check"]), capsys.readouterr().out) == (0, "")


def test_the_matrix_may_lie_in_a_folder_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Jobs begin at the top of the checkout, wherever the command was called."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "release").mkdir()
    publishers = "publishers: {dist: {kind: directory, location: dist}}\n"
    matrix = write(tmp_path / "release", f"{HEAD}matrix: {{include: [{CPU}]}}\n{publishers}")
    workflows = tmp_path / ".github" / "workflows"
    workflows.mkdir(parents=True)
    assert run(["workflow", "--matrix", str(matrix), "--output", str(workflows / "release.yml")]) == 0
    written = (workflows / "release.yml").read_text(encoding="utf-8")
    assert '          MATRIX: "release/matrix.yaml"\n' in written
    assert "\n            release/dist\n" in written
    monkeypatch.chdir(matrix.parent)
    capsys.readouterr()
    assert (run(["workflow", "--check"]), capsys.readouterr().out) == (0, "")


def test_the_words_of_the_command_are_those_of_what_it_calls() -> None:
    """It names them itself, so that its help needs no jinja2."""
    assert tuple(Kind) == workflow.KINDS
    parser = ArgumentParser()
    workflow.configure(parser)
    for maker in Maker:
        assert parser.parse_args(["--unseal", maker.name]).unseal == [maker.name]


@pytest.mark.parametrize("kind", ["cpp", "wheel", "audit"])
def test_what_init_writes_passes_once_the_commit_that_is_trusted_is_named(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It calls the gate, or the action, of a cubingate: no file that anybody rendered, and no action of the table."""
    ours, others = f"ours/cubingate@{'a' * 40}", f"ours/cubingate@{'b' * 40}"
    (tmp_path / "CMakeLists.txt").write_text("project(served VERSION 1.0)\nadd_executable(served a.cpp)\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "kernels"\nversion = "1"\n')
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")

    def checked(*trusted: str) -> tuple[int, str]:
        status = run(["workflow", "--matrix", str(tmp_path / "matrix.yaml"), "--check", *trusted])
        told = capsys.readouterr()
        assert told.out == "", "it is not compared with what was never rendered"
        return status, told.err

    assert run(["init", str(tmp_path), "--kind", kind]) == 0
    capsys.readouterr()
    status, told = checked("--cubingate", ours)
    assert status == 1
    assert "a placeholder, write the commit that you trust" in told
    (workflow_file,) = (tmp_path / ".github" / "workflows").iterdir()
    text = workflow_file.read_text(encoding="utf-8")
    workflow_file.write_text(
        text.replace("OWNER/cubingate/.github", "ours/cubingate/.github").replace("0" * 40, "a" * 40)
    )
    assert checked("--cubingate", ours) == (0, "")
    status, told = checked("--cubingate", others)
    assert status == 1
    assert "no source for ours/cubingate/.github/" in told


def test_a_rendered_workflow_that_became_a_call_is_stale_where_it_is_asked_for(
    matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    committed(matrix)
    rendered = matrix.parent / ".github" / "workflows" / "release.yml"
    rendered.write_text(rendered.read_text(encoding="utf-8") + "# uses: a/b/.github/workflows/gate.yml@1\n")
    assert run(["workflow", "--matrix", str(matrix), "--check"]) == 1, "it says that it was rendered"
    rendered.write_text(f"on: push\njobs: {{a: {{uses: a/b/.github/workflows/gate.yml@{'a' * 40}}}}}\n")
    assert run(["workflow", "--matrix", str(matrix), "--check", "--kind", "release"]) == 1
    assert "as it is rendered now" in capsys.readouterr().out


def test_nothing_to_check_is_a_wrong_use(matrix: Path) -> None:
    assert run(["workflow", "--matrix", str(matrix), "--check"]) == 2


def test_a_matrix_that_cannot_succeed_has_no_workflow(tmp_path: Path) -> None:
    wrong = write(tmp_path, f"{HEAD}matrix: {{include: [{CUDA.replace('speed', 'size')}]}}")
    assert run(["workflow", "--matrix", str(wrong)]) == 2


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf", "soon"])
def test_a_patience_is_a_number_of_minutes(minutes: str) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["workflow", f"--watch={minutes}"])
    assert ended.value.code == 2


def test_lanes_on_demand_are_left_out_where_that_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on_demand = CUDA.replace("}", ", on_demand: true}")
    matrix = write(tmp_path, f"{HEAD}matrix: {{include: [{CPU}, {on_demand}]}}")
    assert run(["plan", "--matrix", str(matrix), "--skip-on-demand", "--format", "ids"]) == 0
    assert capsys.readouterr().out == "prebuilt-cpu\n"
    assert run(["plan", "--matrix", str(matrix), "--format", "ids"]) == 0
    assert capsys.readouterr().out == "prebuilt-cpu cuda12.8-sm80\n"
    assert run(["plan", "--matrix", str(matrix), "--skip-on-demand", "--gpu-runs", "--format", "github"]) == 0
    assert capsys.readouterr().out == '{"include":[]}\n', "what the job `prove` looks for"
    assert run(["plan", "--matrix", str(matrix), "--release", "--format", "ids"]) == 0
    assert capsys.readouterr().out == "prebuilt-cpu\n"
    whole = "publishers: {dist: {kind: directory, location: dist}}"
    matrix.write_text(f"{matrix.read_text(encoding='utf-8')}\n{whole}\n", encoding="utf-8")
    assert run(["plan", "--matrix", str(matrix), "--release", "--format", "ids"]) == 0
    assert capsys.readouterr().out == "prebuilt-cpu cuda12.8-sm80\n", "it would publish all or none"
    only = write(tmp_path, f"{HEAD}matrix: {{include: [{on_demand}]}}")
    assert run(["plan", "--matrix", str(only), "--skip-on-demand"]) == 3


def test_a_matrix_that_github_would_not_take_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    targets = ", ".join(f"80@535.{minor}.01" for minor in range(100, 140))
    long = CUDA.replace("[a30]", f"[{targets}]")
    lanes = [
        long.replace("{", f'{{id: "lane-{number}", bundle: {{name: b{number}, version: "1"}}, ', 1)
        for number in range(250)
    ]
    matrix = write(tmp_path, f"{HEAD}matrix: {{include: [{', '.join(lanes)}]}}")
    assert run(["plan", "--matrix", str(matrix), "--format", "github"]) == 2
    assert "too long for an output" in capsys.readouterr().err
    few = write(tmp_path, f"{HEAD}matrix: {{include: [{', '.join(lanes[:20])}]}}")
    assert run(["plan", "--matrix", str(few), "--format", "github"]) == 0
