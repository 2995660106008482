"""``--format`` of audit and gate: nothing but data on stdout, and the status that the verdict has in any format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from pipeline.cli import run
from pipeline.commands.options import AUDIT_FORMATS, GATE_FORMATS
from tests.e2e.street import write_matrix
from tests.rules.forge import Elf, build, container

ROOT = Path(__file__).resolve().parents[2]
BEGINS = {
    "text": "",
    "json": '{\n "schema_version": 1',
    "sarif": '{\n "$schema"',
    "junit": "<?xml",
    "markdown": "### ",
    "html": "<!doctype html>",
    "annotations": "::",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of CUDA 13, which no R550 driver loads."""
    return build(Elf("libk.so", [container("13.0", "80")]), tmp_path_factory.mktemp("library"))


@pytest.fixture(autouse=True)
def _keep_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)


@pytest.mark.network
@pytest.mark.parametrize("name", AUDIT_FORMATS)
def test_an_audit_prints_its_format_and_keeps_its_status(
    name: str, library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", str(library), "--target", "80@550", "--format", name]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith(BEGINS[name])
    assert not printed.err
    assert run(["audit", str(library), "--target", "80@580", "--format", name]) == 0


@pytest.mark.network
@pytest.mark.parametrize("name", AUDIT_FORMATS)
def test_an_audit_of_damage_or_of_nothing_is_told_in_every_format(
    name: str, library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.so"
    cut.write_bytes(library.read_bytes()[:-300])
    assert run(["audit", str(cut), "--target", "80@550", "--format", name]) == 5
    assert capsys.readouterr().out.startswith(BEGINS[name])
    (tmp_path / "empty").mkdir()
    assert run(["audit", str(tmp_path / "empty"), "--target", "80@550", "--format", name]) == 3


@pytest.mark.network
def test_an_audit_goes_to_a_file_where_one_is_named(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "audit.sarif"
    command = ["audit", str(library), "--target", "80@550", "--format", "sarif", "--output", str(out)]
    assert run(command) == 1
    assert not capsys.readouterr().out
    assert json.loads(out.read_text(encoding="utf-8"))["version"] == "2.1.0"


@pytest.mark.parametrize("name", GATE_FORMATS)
def test_a_gate_prints_its_format_and_keeps_its_status(name: str, tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}, {"id": "two", "bundle": {"name": "two", "version": "1"}}])
    done = street.cubingate("gate", "--format", name)
    assert done.returncode == 1
    assert done.stdout.startswith(BEGINS[name])
    assert not done.stderr
    one = street.cubingate("gate", "--explain", "one", "--format", name).stdout
    assert name == "json" or "one" in one
    assert name == "json" or "two" not in one
    assert street.cubingate("gate", "--explain", "three", "--format", "html").returncode == 2


def test_a_gate_points_at_the_lines_of_the_matrix(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    text = (tmp_path / "matrix.yaml").read_text(encoding="utf-8").splitlines()
    line = 1 + next(number for number, line in enumerate(text) if "id" in line and "one" in line)
    printed = street.cubingate("gate", "--format", "annotations").stdout
    assert printed.startswith(f"::error file=matrix.yaml,line={line},")


def test_a_gate_in_junit_has_the_reasons(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    root = fromstring(street.cubingate("gate", "--format", "junit").stdout)  # noqa: S314 -- our own
    assert {error.attrib["message"] for error in root.iter("error")} == {"not built"}


@pytest.mark.parametrize("name", GATE_FORMATS[2:])
def test_a_report_is_utf8_whatever_the_terminal_speaks(name: str, tmp_path: Path) -> None:
    write_matrix(tmp_path, [{"id": "one"}])
    command = [sys.executable, "-m", "pipeline", "gate", "--format", name, "--matrix", str(tmp_path / "matrix.yaml")]
    spoken = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    command += ["--state", str(tmp_path / "state")]
    done = subprocess.run(command, cwd=ROOT, env=spoken, capture_output=True, check=False)
    assert done.returncode == 1
    assert "\\u" not in done.stdout.decode("utf-8")
    assert name in {"junit", "annotations"} or "❌" in done.stdout.decode() or "✕" in done.stdout.decode()


def test_a_self_test_has_no_page(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    done = street.cubingate("gate", "--self-test", "--format", "html")
    assert done.returncode == 2
    assert "ask for text or json" in done.stderr


@pytest.mark.network
def test_one_audit_writes_every_format_that_is_asked_for(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["audit", str(library), "--target", "80@550"]
    alone = {}
    for name in AUDIT_FORMATS:
        assert run([*command, "--format", name]) == 1
        alone[name] = capsys.readouterr().out
    also = [word for name in AUDIT_FORMATS for word in ("--also", f"{name}={tmp_path / name}=1")]
    assert run([*command, *also, "--format", "annotations"]) == 1
    assert capsys.readouterr().out == alone["annotations"]
    assert {name: (tmp_path / f"{name}=1").read_text(encoding="utf-8") for name in AUDIT_FORMATS} == alone


def test_one_gate_writes_every_format_that_is_asked_for(tmp_path: Path) -> None:
    street = write_matrix(tmp_path, [{"id": "one"}])
    also = [word for name in GATE_FORMATS for word in ("--also", f"{name}=also.{name}")]
    assert street.cubingate("gate", *also).returncode == 1
    for name in GATE_FORMATS:
        written = (tmp_path / f"also.{name}").read_text(encoding="utf-8")
        assert written == street.cubingate("gate", "--format", name).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--also", "pdf=a"], "is not FORMAT=FILE"),
        (["--also", "json="], "is not FORMAT=FILE"),
        (["--also", "json"], "is not FORMAT=FILE"),
        (["--also", "sarif=a"], "is not FORMAT=FILE"),
        (["--also", "json=a", "--also", "html=a"], "would be written twice"),
        (["--also", "json=a", "--output", "a"], "would be written twice"),
        (["--self-test", "--also", "json=a"], "ask for text or json"),
    ],
)
def test_what_cannot_be_written_also_is_a_mistake(words: list[str], said: str, tmp_path: Path) -> None:
    done = write_matrix(tmp_path, [{"id": "one"}]).cubingate("gate", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "a").exists()
