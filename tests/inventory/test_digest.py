from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError
from pipeline.inventory import digest_of

if TYPE_CHECKING:
    from pathlib import Path


def test_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"content")
    assert digest_of(tmp_path / "f") == hashlib.sha256(b"content").hexdigest()


def test_of_a_directory_by_hand(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "f").write_bytes(b"content")
    (tmp_path / "b" / "f").chmod(0o644)
    (tmp_path / "a").symlink_to("b/f")
    link = hashlib.sha256(b"b/f").hexdigest()
    file = hashlib.sha256(b"content").hexdigest()
    lines = b"a\0" + b"120777\0" + link.encode() + b"\nb/f\0" + b"100644\0" + file.encode() + b"\n"
    assert digest_of(tmp_path) == hashlib.sha256(lines).hexdigest()


@pytest.mark.parametrize("change", ["content", "mode", "name", "target", "more"])
def test_every_change_changes_it(tmp_path: Path, change: str) -> None:
    (tmp_path / "f").write_bytes(b"content")
    (tmp_path / "l").symlink_to("f")
    before = digest_of(tmp_path)
    if change == "content":
        (tmp_path / "f").write_bytes(b"contents")
    elif change == "mode":
        (tmp_path / "f").chmod(0o700)
    elif change == "name":
        (tmp_path / "f").rename(tmp_path / "g")
    elif change == "target":
        (tmp_path / "l").unlink()
        (tmp_path / "l").symlink_to("g")
    else:
        (tmp_path / "n").touch()
    assert digest_of(tmp_path) != before


def test_what_cannot_be_read_is_infrastructure(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError):
        digest_of(tmp_path / "absent")
