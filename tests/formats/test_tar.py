from __future__ import annotations

import io
import tarfile

import pytest

from pipeline.binary import BufferView, FormatError
from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.formats.stream import stream_of
from pipeline.formats.tar import TarKind, is_tar, read_tar
from tests.formats.artifacts import tar_member, tar_of


def read(content: bytes, budgets: Budgets = STANDARD) -> list[tuple[str, TarKind, str, bytes]]:
    members = read_tar(stream_of(BufferView(content)), budgets)
    return [(m.name, m.kind, m.link, b"".join(m.content.rest())) for m in members]


@pytest.mark.parametrize("name", ["a", "x" * 99, "d/" * 60 + "e" * 50, "n" * 300, "ünï/ç", "line\nbreak"])
@pytest.mark.parametrize("style", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_of_every_style(name: str, style: int) -> None:
    if style == tarfile.USTAR_FORMAT and len(name) > 255:
        pytest.skip("ustar has no names of that length")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=style) as archive:
        member = tarfile.TarInfo(name)
        member.size = 5
        archive.addfile(member, io.BytesIO(b"12345"))
    assert is_tar(buffer.getvalue())
    assert read(buffer.getvalue()) == [(name, TarKind.FILE, "", b"12345")]


def test_names_that_are_not_utf8_are_kept() -> None:
    content = bytearray(tar_of({"abc": b""}))
    content[0] = 0xFF
    content[148:156] = b"%06o\0 " % (sum(content[:148]) + sum(content[156:512]) + 8 * 32)
    assert read(bytes(content))[0][0] == "\udcffbc"


@pytest.mark.parametrize(
    ("flag", "kind"),
    [
        (tarfile.SYMTYPE, TarKind.SYMLINK),
        (tarfile.LNKTYPE, TarKind.HARDLINK),
        (tarfile.CHRTYPE, TarKind.DEVICE),
        (tarfile.BLKTYPE, TarKind.DEVICE),
        (tarfile.FIFOTYPE, TarKind.FIFO),
        (tarfile.DIRTYPE, TarKind.DIRECTORY),
        (tarfile.GNUTYPE_SPARSE, TarKind.SPARSE),
        (b"Z", TarKind.UNKNOWN),
    ],
)
def test_kinds(flag: bytes, kind: TarKind) -> None:
    assert read(tar_member(type=flag))[0][1] is kind


def test_truncation_at_every_block_is_seen() -> None:
    content = tar_of({"a": b"x" * 700, "b": b"y"})
    members_end = 512 + 1024 + 512 + 512
    for length in range(0, members_end + 1, 64):
        with pytest.raises(FormatError):
            read(content[:length])


def test_a_damaged_header_in_the_middle_is_no_silent_end() -> None:
    content = bytearray(tar_of({"a": b"x", "b": b"y"}))
    content[1024] ^= 1
    with pytest.raises(FormatError, match="checksum"):
        read(bytes(content))


def test_bytes_after_the_end_are_seen() -> None:
    with pytest.raises(FormatError, match="follow"):
        read(tar_of({"a": b""}) + b"more")


def header_with(at: slice, value: bytes) -> bytes:
    content = bytearray(tar_of({"abc": b""}))
    content[at] = value
    content[148:156] = b"%06o\0 " % (sum(content[:148]) + sum(content[156:512]) + 8 * 32)
    return bytes(content)


@pytest.mark.parametrize("size", [b"\xff" * 12, b"\x80" + b"\xff" * 11, b"99999999999\0", b"-0000000001\0"])
def test_impossible_sizes(size: bytes) -> None:
    with pytest.raises(FormatError):
        read(header_with(slice(124, 136), size))


@pytest.mark.parametrize("record", [b"9 size=x\n", b"12 size=1e9\n", b"999 path=a\n", b"-1 path=a\n", b"nonsense"])
def test_damaged_pax_headers(record: bytes) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        pax = tarfile.TarInfo("pax")
        pax.type, pax.size = tarfile.XHDTYPE, len(record)
        archive.addfile(pax, io.BytesIO(record))
        archive.addfile(tarfile.TarInfo("member"))
    with pytest.raises(FormatError):
        read(buffer.getvalue())


def test_an_extended_header_is_limited() -> None:
    with pytest.raises(FormatError, match="extended tar header"):
        read(tar_of({"n" * 3000: b""}), Budgets(name=1000))


def test_random_bytes_are_no_tar() -> None:
    assert not is_tar(bytes(512))
    assert not is_tar(b"a" * 512)
    assert not is_tar(b"")
