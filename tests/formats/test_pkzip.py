from __future__ import annotations

import struct
import zipfile

import pytest

from pipeline.binary import BufferView, FormatError, View
from pipeline.formats.budgets import STANDARD
from pipeline.formats.pkzip import read_directory
from pipeline.formats.pkzip_members import open_member
from pipeline.formats.pkzip_stream import ZipStream
from pipeline.formats.stream import stream_of
from tests.formats.artifacts import zip_of

FILES = {"a.txt": b"alpha" * 100, "d/b": b"", "große": bytes(3 << 20)}


def whole(content: bytes) -> dict[str, bytes]:
    view = BufferView(content)
    found = {}
    for member in read_directory(view, STANDARD):
        opened = open_member(view, member, STANDARD, ahead=True)
        found[member.name] = opened.read(0, opened.size) if isinstance(opened, View) else b"".join(opened.rest())
    return found


def streamed(content: bytes) -> dict[str, bytes]:
    archive = ZipStream(stream_of(BufferView(content)), STANDARD)
    found = {member.name: b"".join(member.content.rest()) for member in archive.members()}
    archive.directory()
    return found


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_members_come_back(method: int) -> None:
    content = zip_of(FILES, method=method)
    assert whole(content) == FILES
    assert streamed(content) == FILES


def test_sizes_behind_the_members() -> None:
    content = zip_of(FILES, streamed=True)
    assert whole(content) == FILES
    assert streamed(content) == FILES


def test_empty_archives() -> None:
    assert whole(zip_of({})) == {}
    assert streamed(zip_of({})) == {}


def test_truncation_anywhere_is_seen() -> None:
    content = zip_of({"a": b"alpha" * 100, "b": b"beta"})
    for length in range(1, len(content)):
        with pytest.raises(FormatError):
            whole(content[:length])
        with pytest.raises(FormatError):
            streamed(content[:length])


def changed(content: bytes, magic: bytes, at: int, form: str, value: int) -> bytes:
    out = bytearray(content)
    struct.pack_into(form, out, content.index(magic) + at, value)
    return bytes(out)


CENTRAL, LOCAL, END = b"PK\1\2", b"PK\3\4", b"PK\5\6"


@pytest.mark.parametrize(
    ("magic", "at", "form", "value"),
    [
        (CENTRAL, 24, "<I", 7),  # size
        (CENTRAL, 20, "<I", 7),  # compressed size
        (CENTRAL, 16, "<I", 7),  # checksum
        (CENTRAL, 42, "<I", 9),  # where the local header is
        (CENTRAL, 42, "<I", 0xFFFFFFFF),  # a zip64 field that is not there
        (CENTRAL, 10, "<H", 99),  # method
        (CENTRAL, 28, "<H", 0xFFFF),  # length of the name
        (LOCAL, 8, "<H", 0),  # method
        (LOCAL, 26, "<H", 2),  # length of the name
        (END, 10, "<H", 9),  # number of members
        (END, 12, "<I", 1),  # size of the directory
        (END, 16, "<I", 1),  # where it is
        (END, 4, "<H", 1),  # disk
        (END, 20, "<H", 5),  # length of the comment
    ],
)
def test_contradictions(magic: bytes, at: int, form: str, value: int) -> None:
    content = changed(zip_of({"abc": b"alpha" * 100}), magic, at, form, value)
    with pytest.raises(FormatError):
        whole(content)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_encrypted_members_are_not_readable(method: int) -> None:
    content = changed(zip_of({"abc": b"alpha" * 100}, method=method), CENTRAL, 8, "<H", 1)
    content = changed(content, LOCAL, 6, "<H", 1)
    with pytest.raises(FormatError, match="encrypted"):
        whole(content)
    with pytest.raises(FormatError, match="encrypted"):
        streamed(content)


def test_members_that_share_bytes_are_refused() -> None:
    content = bytearray(zip_of({"aaa": b"alpha" * 100, "bbb": b"beta" * 100}))
    second = content.index(CENTRAL, content.index(CENTRAL) + 1)
    struct.pack_into("<I", content, second + 42, 0)
    with pytest.raises(FormatError, match="overlap"):
        whole(bytes(content))


def test_the_directory_must_list_what_was_streamed() -> None:
    content = bytearray(zip_of({"aaa": b"alpha"}))
    content[content.index(CENTRAL) + 46] = ord("x")
    with pytest.raises(FormatError, match="does not list"):
        streamed(bytes(content))


def test_zip64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    content = zip_of({"a": b"alpha" * 100, "b": b"beta" * 100}, method=zipfile.ZIP_STORED)
    assert b"PK\6\6" in content
    assert whole(content) == {"a": b"alpha" * 100, "b": b"beta" * 100}
    assert streamed(content) == whole(content)
