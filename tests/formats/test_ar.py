from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from pipeline.binary import BufferView, FormatError
from pipeline.formats.ar import is_ar, is_deb, read_ar
from pipeline.formats.budgets import STANDARD
from pipeline.formats.stream import stream_of
from tests.formats.artifacts import ar_of, deb_of

if TYPE_CHECKING:
    from pathlib import Path


def read(content: bytes) -> list[tuple[str, bytes]]:
    return [(m.name, b"".join(m.content.rest())) for m in read_ar(stream_of(BufferView(content)), STANDARD)]


def test_members_and_padding() -> None:
    assert read(ar_of([("a.o", b"odd"), ("b.o", b"even")])) == [("a.o", b"odd"), ("b.o", b"even")]


def test_long_names_and_indexes_as_binutils_writes_them(tmp_path: Path) -> None:
    name = "a_name_much_longer_than_the_sixteen_bytes_of_the_header.o"
    (tmp_path / "unit.s").write_text(".globl f\nf: ret\n")
    subprocess.run(["as", "unit.s", "-o", name], cwd=tmp_path, check=True)
    subprocess.run(["ar", "rcs", "lib.a", name], cwd=tmp_path, check=True)
    ((found, content),) = read((tmp_path / "lib.a").read_bytes())
    assert (found, content) == (name, (tmp_path / name).read_bytes())


def test_bsd_names() -> None:
    header = f"{'#1/8':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{11:<10}`\n".encode()
    assert read(b"!<arch>\n" + header + b"long.o\0\0abc\n") == [("long.o", b"abc")]


def test_debian_packages_are_told_from_libraries() -> None:
    assert is_deb(deb_of({"a": b""}))
    assert not is_deb(ar_of([("a.o", b"")]))
    assert is_ar(ar_of([]))


@pytest.mark.parametrize(
    "content",
    [
        b"!<thin>\n",
        b"!<arch>\nshort",
        ar_of([("a.o", b"abcdef")])[:-2],
        ar_of([("a.o", b"ab")]).replace(b"`\n", b"??"),
        ar_of([("a.o", b"ab")]).replace(b"2         `", b"x         `"),
        ar_of([("/7", b"ab")]).replace(b"/7/", b"/7 "),
    ],
)
def test_damage(content: bytes) -> None:
    with pytest.raises(FormatError):
        read(content)
