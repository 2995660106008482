"""The build context: complete, and the same whoever unpacked the source."""

from __future__ import annotations

import io
import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from pipeline.engine.context import BuildContext
from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from pathlib import Path


def _written(context: BuildContext) -> bytes:
    stream = io.BytesIO()
    context.write(stream)
    return stream.getvalue()


def _tree(folder: Path, *, mode: int, time: int) -> Path:
    (folder / "sub" / ".git").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".cubingate").mkdir()
    (folder / "sub" / "a.c").write_text("int a;\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "sub" / "a.c").chmod(mode)
    (folder / "run.sh").chmod(mode | 0o111)
    os.utime(folder / "sub" / "a.c", (time, time))
    return folder


def test_names_and_contents(tmp_path: Path) -> None:
    tree = _tree(tmp_path / "t", mode=0o644, time=1)
    context = BuildContext("FROM scratch\n", {"private/ca.crt": b"CA"}, {"source": tree})
    with tarfile.open(fileobj=io.BytesIO(_written(context))) as tar:
        members = {member.name: member for member in tar}
        assert sorted(members) == [
            "Dockerfile",
            "private/ca.crt",
            "source",
            "source/run.sh",
            "source/sub",
            "source/sub/a.c",
        ]
        extracted = tar.extractfile("Dockerfile")
        assert extracted is not None
        assert extracted.read() == b"FROM scratch\n"
    assert {(member.uid, member.gid, member.uname) for member in members.values()} == {(0, 0, "")}
    assert all(member.mtime > 0 for member in members.values())


def test_umask_and_times_do_not_matter(tmp_path: Path) -> None:
    one = _tree(tmp_path / "one", mode=0o600, time=1)
    two = _tree(tmp_path / "two", mode=0o664, time=2)
    assert _written(BuildContext("", trees={"source": one})) == _written(BuildContext("", trees={"source": two}))


def test_a_missing_tree_is_said(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot read the source tree"):
        _written(BuildContext("", trees={"source": tmp_path / "none"}))
