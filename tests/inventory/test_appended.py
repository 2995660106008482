"""Archives that begin with something else are entered; what merely looks like one is a file like any other."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from pipeline.formats.recognize import Kind
from pipeline.inventory import take_inventory
from tests.formats.artifacts import zip_of
from tests.rules.forge import Elf, build, container

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.network
SCRIPT = b"#!/bin/sh\n# unpack what follows\nexit 0\n"


def tarred(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def zipapp(content: bytes) -> bytes:
    """Offsets count from the start of the file."""
    buffer = io.BytesIO(b"#!/usr/bin/env python3\n")
    buffer.seek(0, io.SEEK_END)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("lib/libk.so", content)
    return buffer.getvalue()


def prefixed(start: bytes) -> Callable[[bytes], bytes]:
    """Offsets count from the start of the archive."""
    return lambda content: start + zip_of({"lib/libk.so": content})


def behind_a_program(content: bytes) -> bytes:
    return content + zip_of({"lib/libk.so": content})


WRAPPED: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "zipapp": (zipapp, 1),
    "prefix": (prefixed(b"some words\n"), 1),
    "script": (prefixed(SCRIPT), 1),
    "exe": (prefixed(b"MZ" + bytes(58) + (64).to_bytes(4, "little") + b"PE\0\0" + bytes(300)), 1),
    "elf": (behind_a_program, 2),
    "makeself-gz": (lambda content: SCRIPT + gzip.compress(tarred("libk.so", content)), 1),
    "makeself-xz": (lambda content: SCRIPT + lzma.compress(tarred("libk.so", content)), 1),
    "makeself-tar": (lambda content: SCRIPT + tarred("libk.so", content), 1),
}


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a tar.gz"])
@pytest.mark.parametrize("name", WRAPPED)
def test_device_code_in_it_is_found(name: str, tmp_path: Path, *, inside: bool) -> None:
    wrap, expected = WRAPPED[name]
    content = wrap(build(Elf("libk.so", [container("12.8", "80")]), tmp_path).read_bytes())
    path = tmp_path / "artifact"
    path.write_bytes(gzip.compress(tarred("bin/it", content)) if inside else content)
    found = take_inventory(path)
    if inside and name == "prefix":
        expected = 0  # a stream that begins with text is not held to look at its end
    assert (len(found.fatbins), found.damage) == (expected, ())


@pytest.mark.parametrize(
    "content",
    [
        SCRIPT * 400,
        b"#!/bin/sh\nprintf '\\037\\213\\010'\n",
        b"words\n" + b"PK\5\6" + bytes(18),
        b"#!/bin/sh\n" + "# größer\n".encode() * 3000,
    ],
)
def test_what_is_none_is_data(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(content)
    found = take_inventory(path)
    assert (found.format, found.members, found.damage) == (Kind.DATA.value, 1, ())


def test_a_packed_tail_that_nobody_can_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(SCRIPT + bytes(range(256)) * 64)
    found = take_inventory(path)
    assert [item.what for item in found.opaque] == [Kind.SELF_EXTRACTING.value]
    assert found.damage == ()
