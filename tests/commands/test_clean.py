"""``clean`` removes what is ours and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.cli import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    for name in ("lanes/cpu/logs", "evidence/0", "cache/sha256", ".build-x", ".smoke-x"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").touch()
    return folder


def _clean(state: Path) -> int:
    return run(["clean", "--only", "state", "--state", str(state)])


def test_a_state_directory_is_gone(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _clean(state) == 0
    assert not state.exists()
    assert capsys.readouterr().out.splitlines() == [
        f"folder {state / name}" for name in ("lanes", "evidence", "cache", ".build-x", ".smoke-x")
    ]
    assert _clean(state) == 0


def test_what_others_put_there_stays(state: Path) -> None:
    (state / "notes.txt").write_text("mine")
    (state / "sub/lanes").mkdir(parents=True)
    assert _clean(state) == 0
    assert sorted(path.name for path in state.iterdir()) == ["notes.txt", "sub"]
    assert (state / "sub/lanes").is_dir()


def test_links_are_not_followed(state: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    (state / "lanes/cpu/link").symlink_to(precious)
    (state / ".copy-link").symlink_to(precious)
    assert _clean(state) == 0
    assert (precious / "file").exists()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_state_directory(state: Path, tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other"
    if kind == "file":
        other.touch()
    else:
        other.symlink_to(state)
    assert _clean(other) == 2
    assert (state / "lanes").is_dir()
