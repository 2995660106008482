from __future__ import annotations

import pytest

from pipeline.formats.recognize import HEAD, UNENTERED, Kind, recognize
from tests.formats.artifacts import Library, ar_of, deb_of, gz, link, tar_of, xz, zip_of, zst


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", Kind.EMPTY),
        (b"#!/bin/sh\n", Kind.DATA),
        (b"\x7fEL", Kind.DATA),
        (b"\x7fELF\1\1\1", Kind.FOREIGN_ELF),
        (b"MZ" + bytes(58) + b"\x40\0\0\0PE\0\0", Kind.PE),
        (b"MZ is just a word", Kind.DATA),
        (b"\xcf\xfa\xed\xfe" + bytes(30), Kind.MACHO),
        (b"GGUF\3\0\0\0", Kind.GGUF),
        (b"BC\xc0\xde", Kind.LLVM),
        (b".version 8.0\n.target sm_90\n", Kind.PTX),
        (b"\x50\xed\x55\xba\1\0\x10\0", Kind.FATBIN),
        (tar_of({"a": b"b"}), Kind.TAR),
        (gz(b"a"), Kind.COMPRESSED),
        (xz(b"a"), Kind.COMPRESSED),
        (zst(b"a"), Kind.COMPRESSED),
        (zip_of({"a": b"b"}), Kind.ZIP),
        (zip_of({}), Kind.ZIP),
        (ar_of([("a.o", b"b")]), Kind.AR),
        (deb_of({"a": b"b"}), Kind.DEB),
    ],
)
def test_content_decides(content: bytes, kind: Kind) -> None:
    assert recognize(content[:HEAD]) is kind


@pytest.mark.parametrize(
    "head",
    [
        b"\xed\xab\xee\xdb\3\0", b"7z\xbc\xaf'\x1c\0\4", b"Rar!\x1a\x07\1\0", b"070701" + bytes(9), b"MSCF\0\0\0\0",
        b"\x04\x22\x4d\x18\x64", b"LZIP\1\x0c", b"hsqs\5\0",
    ],
)  # fmt: skip
def test_archives_that_are_not_entered_have_a_name(head: bytes) -> None:
    assert recognize(head + bytes(600)) in UNENTERED


def test_host_files_are_told_from_cubins() -> None:
    content = bytearray(link(Library()))
    assert recognize(bytes(content)) is Kind.ELF
    content[18:20] = b"\xbe\x00"
    assert recognize(bytes(content)) is Kind.CUBIN
