"""Bundles: equal files give equal bytes, and nothing gets in that leads out."""

from __future__ import annotations

import gzip
import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from pipeline.build.pack import pack
from pipeline.errors import InfrastructureError, Refused

if TYPE_CHECKING:
    from pathlib import Path

EPOCH = 1_700_000_000


def _folder(path: Path, *, order: tuple[str, ...] = ("b", "a"), mode: int = 0o755, time: int = 1) -> Path:
    (path / "bin").mkdir(parents=True)
    for name in order:
        (path / "bin" / name).write_text(name)
        (path / "bin" / name).chmod(mode)
        os.utime(path / "bin" / name, (time, time))
    (path / "README").write_text("read")
    (path / "bin" / "link").symlink_to("a")
    return path


def _packed(folder: Path, bundle: Path) -> bytes:
    pack(folder, bundle, top="x-1", source_date_epoch=EPOCH)
    return bundle.read_bytes()


def test_equal_files_make_equal_bundles(tmp_path: Path) -> None:
    one = _packed(_folder(tmp_path / "one"), tmp_path / "one.tar.gz")
    two = _packed(_folder(tmp_path / "two", order=("a", "b"), mode=0o700, time=2), tmp_path / "two-of-another-name.tgz")
    assert one == two


def test_what_is_inside(tmp_path: Path) -> None:
    _packed(_folder(tmp_path / "one"), tmp_path / "one.tar.gz")
    with tarfile.open(tmp_path / "one.tar.gz") as tar:
        members = tar.getmembers()
    assert [(member.name, member.mode) for member in members] == [
        ("x-1", 0o755),
        ("x-1/README", 0o644),
        ("x-1/bin", 0o755),
        ("x-1/bin/a", 0o755),
        ("x-1/bin/b", 0o755),
        ("x-1/bin/link", 0o777),
    ]
    assert {(member.uid, member.gid, member.uname, member.gname, member.mtime) for member in members} == {
        (0, 0, "", "", EPOCH)
    }


def test_the_gzip_header_has_no_name_and_no_time(tmp_path: Path) -> None:
    packed = _packed(_folder(tmp_path / "one"), tmp_path / "one.tar.gz")
    assert packed[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    assert gzip.decompress(packed)


@pytest.mark.parametrize("change", ["content", "mode", "name", "link"])
def test_another_file_makes_another_bundle(tmp_path: Path, change: str) -> None:
    before = _packed(_folder(tmp_path / "one"), tmp_path / "one.tar.gz")
    other = _folder(tmp_path / "two")
    match change:
        case "content":
            (other / "README").write_text("said")
        case "mode":
            (other / "bin/a").chmod(0o644)
        case "name":
            (other / "README").rename(other / "README.md")
        case _:
            (other / "bin/link").unlink()
            (other / "bin/link").symlink_to("b")
    assert _packed(other, tmp_path / "two.tar.gz") != before


def test_nothing_is_not_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "empty/sub").mkdir(parents=True)
    with pytest.raises(Refused, match="nothing to pack"):
        _packed(tmp_path / "empty", tmp_path / "x.tar.gz")
    assert not (tmp_path / "x.tar.gz").exists()


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside", "../x-1/../../outside"])
def test_a_link_that_leads_out(tmp_path: Path, target: str) -> None:
    folder = _folder(tmp_path / "one")
    (folder / "bin/out").symlink_to(target)
    with pytest.raises(Refused, match="bin/out links out of the bundle"):
        _packed(folder, tmp_path / "x.tar.gz")
    assert not list(tmp_path.glob("*.tar.gz"))


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "one")
    os.mkfifo(folder / "pipe")
    with pytest.raises(Refused, match="neither file, folder nor link"):
        _packed(folder, tmp_path / "x.tar.gz")


def test_a_bundle_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").mkdir()
    (tmp_path / "x.tar.gz/in").touch()
    with pytest.raises(InfrastructureError, match="cannot write"):
        _packed(_folder(tmp_path / "one"), tmp_path / "x.tar.gz")
    assert not list(tmp_path.glob(".pack-*"))
