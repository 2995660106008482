"""``build``: how the environment sets it up, and that a failed lane does not stop the others."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from pipeline.cli import run
from pipeline.commands.build_settings import settings_for
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

MATRIX = """\
version: 1
bundle: {{name: server, version: "1.0"}}
sources:
  good: {{file: good.tar.gz, sha256: "{good}"}}
  bad: {{file: good.tar.gz, sha256: "{bad}"}}
smoke:
  server: {{command: [server, "{{model}}", "{{port}}"]}}
flavours:
  cpu: {{smoke: server}}
defaults: {{flavour: cpu, platform: x86_64, glibc: "2.31"}}
matrix:
  include:
    - {{id: bad, source: bad}}
    - {{id: good, source: good}}
publishers:
  dist: {{kind: directory, location: dist, partial: true}}
"""


def test_an_empty_environment(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "matrix.yaml", {})
    assert (settings.jobs, settings.source_date_epoch) == (0, 315_532_800)
    assert settings.network.index_url is None
    assert settings.network.ca_bundle is None
    assert settings.network.proxies == {}


def test_what_the_environment_says(tmp_path: Path) -> None:
    (tmp_path / "one.crt").touch()
    (tmp_path / "two.crt").touch()
    settings = settings_for(
        tmp_path / "matrix.yaml",
        {
            "SOURCE_DATE_EPOCH": "1700000000",
            "CUBINGATE_JOBS": "3",
            "PIP_INDEX_URL": "https://index.example/simple/",
            "https_proxy": "http://proxy.example:3128",
            "REQUESTS_CA_BUNDLE": str(tmp_path / "one.crt"),
            "CUBINGATE_CA_BUNDLE": str(tmp_path / "two.crt"),
        },
    )
    assert (settings.jobs, settings.source_date_epoch) == (3, 1_700_000_000)
    assert settings.network.index_url == "https://index.example/simple/"
    assert settings.network.ca_bundle == tmp_path / "two.crt"
    assert settings.network.proxies == {"HTTPS_PROXY": "http://proxy.example:3128"}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("CUBINGATE_JOBS", "many", "CUBINGATE_JOBS: 'many' is not a whole number"),
        ("SOURCE_DATE_EPOCH", "-1", "SOURCE_DATE_EPOCH: '-1' is not a whole number"),
        ("REQUESTS_CA_BUNDLE", "/none/ca.crt", "REQUESTS_CA_BUNDLE: there is no file /none/ca.crt"),
    ],
)
def test_an_environment_that_is_wrong(tmp_path: Path, name: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings_for(tmp_path / "matrix.yaml", {name: value})


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    (tmp_path / "good.tar.gz").write_bytes(b"bundle")
    path = tmp_path / "matrix.yaml"
    path.write_text(MATRIX.format(good=hashlib.sha256(b"bundle").hexdigest(), bad="0" * 64))
    return path


def test_a_failed_lane_does_not_stop_the_others(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = matrix.parent / "state"
    assert run(["build", "--matrix", str(matrix), "--state", str(state)]) == 5
    told = capsys.readouterr()
    assert told.out == f"{hashlib.sha256(b'bundle').hexdigest()}  {state}/lanes/good/good.tar.gz\n"
    assert "bad  not built: " in told.err
    assert "declared sha256 0000" in told.err
    assert run(["build", "--matrix", str(matrix), "--state", str(state), "--lane", "good"]) == 0


def test_options_that_are_wrong(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["build", "--matrix", str(matrix), "--jobs", "many"]) == 2
    assert run(["build", "--matrix", str(matrix), "--ca-bundle", "/none"]) == 2
    assert capsys.readouterr().out == ""
