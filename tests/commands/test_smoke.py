from __future__ import annotations

import json
import tarfile
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.cli import run
from pipeline.evidence import read
from pipeline.serve.outcome import CheckId
from tests.fixture_server.builder import NAME, cpu_server

SERVE = [f"bin/{NAME}", "--host", "{host}", "--port", "{port}", "-m", "{model}"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "fixture-1.0-linux-x86_64.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(cpu_server(), f"fixture-1.0/bin/{NAME}")
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # the handlers of pytest stay


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.machine.installed_gpus", lambda: ())


@pytest.fixture
def matrix(tmp_path: Path, bundle: Path) -> Path:
    """Two lanes of the same bundle: one good, one that is told to answer rubbish."""
    content: dict[str, Any] = {
        "version": 1,
        "bundle": {"name": "fixture", "version": "1.0"},
        "sources": {"fixture": {"file": str(bundle), "sha256": sha256(bundle.read_bytes()).hexdigest()}},
        "smoke": {"good": {"command": SERVE}, "bad": {"command": [*SERVE, "--fail", "non-json"]}},
        "defaults": {"platform": "x86_64", "flavour": "cpu", "source": "fixture", "glibc": "2.31"},
        "matrix": {"smoke": ["good", "bad"]},
    }
    path = tmp_path / "matrix.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def test_a_bundle_alone_gets_a_verdict_in_words(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["smoke", str(bundle)]) == 0
    printed, _ = capsys.readouterr()
    assert "expected-token       pass" in printed
    assert "on the CPU, process" in printed
    assert printed.rstrip().endswith("PASS")


def test_json_is_one_document_of_the_contract(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["smoke", str(bundle), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema_version"], told["kind"], told["verdict"]) == (1, "smoke", "pass")
    assert told["tool"]["name"] == "cubingate"
    assert told["artifact"] == {
        "path": str(bundle),
        "sha256": sha256(bundle.read_bytes()).hexdigest(),
        "size": bundle.stat().st_size,
        "format": "tar.gz",
    }
    assert told["machine"]["device"] == "cpu"
    assert [check["id"] for check in told["checks"]] == list(CheckId)
    assert {check["status"] for check in told["checks"]} == {"pass", "not-applicable"}
    assert all((check["reason"] is None) == (check["status"] == "pass") for check in told["checks"])
    assert [model["name"] for model in told["models"]] == ["tiny"]
    assert 0 < told["models"][0]["seconds"]["first_token"] < 60


def test_a_lane_says_how_to_serve_and_gets_its_evidence(
    bundle: Path, matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lanes = {"good": 0, "bad": 1}
    for smoke, status in lanes.items():
        assert run(["smoke", str(bundle), "--matrix", str(matrix), "--lane", f"prebuilt-cpu-{smoke}"]) == status
    printed, _ = capsys.readouterr()
    assert "answers-rubbish: answered '<html>welcome</html>', which is not JSON" in printed
    assert "server is listening" in printed
    records = read(
        [tmp_path / ".cubingate" / "evidence"], sha256(bundle.read_bytes()).hexdigest(), now=datetime.now(UTC)
    )
    assert [(record.lane, record.check, record.outcome.status) for record in records] == [
        ("prebuilt-cpu-good", "smoke@cpu", "pass"),
        ("prebuilt-cpu-bad", "smoke@cpu", "fail"),
    ]


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (["absent.tar.gz"], 2, "there is no bundle"),
        (["BUNDLE", "--device", "tpu"], 2, "--device tpu"),
        (["BUNDLE", "--matrix", "matrix.yaml"], 2, "one lane"),
        (["BUNDLE", "--matrix", "matrix.yaml", "--lane", "absent"], 2, "absent"),
        (["BUNDLE", "--device", "cuda"], 4, "no working NVIDIA GPU"),
        (["text.tar.gz"], 5, "neither a tar archive nor a zip"),
    ],
)
@pytest.mark.usefixtures("matrix", "no_gpu")
def test_bad_input_is_one_line_and_the_contract_s_status(
    bundle: Path, words: list[str], status: int, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("text.tar.gz").write_text("just text")
    assert run(["smoke", *(str(bundle) if word == "BUNDLE" else word for word in words)]) == status
    printed, said = capsys.readouterr()
    assert printed == ""
    assert complaint in said
    assert "Traceback" not in said
