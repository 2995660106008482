"""The diff command as other programs meet it: JSON by the published schema, the contract's exit statuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from pipeline.model.lane import LOSSES
from tests.rules.forge import Elf, build, container

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "diff.schema.json").read_text())

pytestmark = pytest.mark.network


def diff(*arguments: str | Path) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "pipeline", "diff", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("releases")
    old = build(Elf("libk.so", [container("12.8", "75 80")]), folder / "old")
    return old, build(Elf("libk.so", [container("12.8", "80", "zstd")]), folder / "new")


@pytest.mark.parametrize("more", [(), ("--kernels",)])
def test_the_document_follows_the_published_schema(releases: tuple[Path, Path], more: tuple[str, ...]) -> None:
    status, out, _ = diff(*releases, *more, "--format", "json")
    found = json.loads(out)
    jsonschema.validate(found, SCHEMA)
    assert (status, found["kind"], found["verdict"]) == (1, "diff", "fail")
    assert [outcome["rule"] for outcome in found["outcomes"]] == list(LOSSES) == SCHEMA["$defs"]["rule"]["enum"]
    floors = {floor["sm"]: floor for floor in found["floors"]}
    assert floors["75"]["new"] == {"minimum_driver": None, "minimum_driver_reason": "none"}
    assert floors["80"]["old"]["minimum_driver"] == "525.60.13"
    assert floors["80"]["new"] == {"minimum_driver": "550.54.14", "minimum_driver_reason": "fatbin-codec"}


def test_people_read_what_was_lost_and_why(releases: tuple[Path, Path]) -> None:
    status, out, _ = diff(*releases)
    assert status == 1
    assert "lost[arch-lost] sm_75: no driver serves all of it" in out
    assert "needs driver >= 550.54.14 (fatbin-codec)" in out
    assert out.endswith("something was lost: arch-lost, floor-raised, codec-changed\n")
    assert "\x1b" not in out


def test_what_is_lost_alike_is_told_once(tmp_path: Path) -> None:
    """Nine libraries of one build lose the same architecture, and a new one brings four libraries of a new toolkit."""
    names = [f"lib{letter}.so" for letter in "abc"]
    for folder, archs, needed in (("old", "75 80", []), ("new", "80", ["libone.so.1", "libtwo.so.2"])):
        for name in names:
            of_last = needed if name == names[-1] else []
            build(Elf(name, [container("12.8", archs)], needed=of_last), tmp_path / folder)
    status, out, _ = diff(tmp_path / "old", tmp_path / "new")
    assert status == 1
    of_libraries = [line for line in out.splitlines() if line.startswith("lost[arch-lost] sm_75 is gone")]
    assert len(of_libraries) == 1, out
    assert "liba.so and 2 more places" in out
    assert "lost[needed-added] needs libone.so.1 as well\n  also  needs libtwo.so.2 as well\n" in out
    assert out.count("lost[needed-added]") == 1


def test_losses_that_are_meant(releases: tuple[Path, Path], tmp_path: Path) -> None:
    allowed = ("--allow", "arch-lost", "--allow", "floor-raised", "--allow", "codec-changed")
    status, out, _ = diff(*releases, *allowed, "--output", tmp_path / "diff.txt")
    assert (status, out) == (0, "")
    assert (tmp_path / "diff.txt").read_text().endswith("allowed: arch-lost, floor-raised, codec-changed\n")


def test_statuses(releases: tuple[Path, Path], tmp_path: Path) -> None:
    old, _ = releases
    cut, text = tmp_path / "cut.so", tmp_path / "text"
    cut.write_bytes(old.read_bytes()[:2000])
    text.write_text("nothing here\n")
    assert diff(old, old)[0] == 0
    assert diff(old, cut)[0] == 5
    assert diff(text, text)[0] == 3
    assert diff(old, tmp_path / "absent")[0] == 2
    assert diff(old, old, "--allow", "everything")[0] == 2
