from __future__ import annotations

import gzip
import io
import shutil
import stat
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest
from backports import zstd

from pipeline.errors import CorruptInput, InfrastructureError, UsageError
from pipeline.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

FILE, SYMLINK, HARDLINK, FOLDER, DEVICE, FIFO = (
    tarfile.REGTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.DIRTYPE,
    tarfile.CHRTYPE,
    tarfile.FIFOTYPE,
)


def member(
    name: str, kind: bytes = FILE, *, target: str = "", content: bytes = b"", mode: int = 0o644
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, target, mode, len(content)
    return info, content


def tar(path: Path, members: Sequence[tuple[tarfile.TarInfo, bytes]], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


HEALTHY = (
    member("server-1.0/", FOLDER),
    member("server-1.0/bin/llama-server", content=b"program", mode=0o755),
    member("server-1.0/lib/libggml.so.0", content=b"library"),
    member("server-1.0/lib/libggml.so", SYMLINK, target="libggml.so.0"),
    member("server-1.0/bin/libggml.so", SYMLINK, target="../lib/libggml.so"),
    member("server-1.0/bin/again", HARDLINK, target="server-1.0/bin/llama-server"),
)


def zstd_tar(path: Path) -> Path:
    plain = tar(path.with_suffix(".plain"), HEALTHY, "w:")
    path.write_bytes(zstd.compress(plain.read_bytes()))
    return path


@pytest.mark.parametrize("mode", ["w:", "w:gz", "w:bz2", "w:xz", "zstd"])
def test_a_healthy_tar_comes_out_as_it_is(tmp_path: Path, into: Path, mode: str) -> None:
    archive = zstd_tar(tmp_path / "b.tar.zst") if mode == "zstd" else tar(tmp_path / "b.tar.gz", HEALTHY, mode)
    root = unpack(archive, into)
    assert root == into / "server-1.0"
    assert (root / "bin" / "llama-server").stat().st_mode & 0o777 == 0o755
    assert (root / "lib" / "libggml.so.0").stat().st_mode & 0o777 == 0o644
    assert (root / "bin" / "libggml.so").read_bytes() == b"library"
    assert (root / "bin" / "again").read_bytes() == b"program"


def test_a_wheel_keeps_its_modes_and_has_no_single_top(tmp_path: Path, into: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as wheel:
        for name, mode in (("x/x.so", 0o755), ("x-1.dist-info/WHEEL", 0o644)):
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | mode) << 16
            wheel.writestr(info, b"content")
    assert unpack(tmp_path / "x.whl", into) == into
    assert (into / "x" / "x.so").stat().st_mode & 0o777 == 0o755


def test_a_folder_is_used_in_place_and_a_program_is_copied(tmp_path: Path, into: Path) -> None:
    assert unpack(into, tmp_path) == into
    (tmp_path / "server").write_bytes(b"\x7fELF program")
    assert unpack(tmp_path / "server", into) == into
    assert (into / "server").stat().st_mode & 0o111


BELOW = member("top/bin", SYMLINK, target="lib")
REFUSED = {
    "a parent folder": [member("top/../../evil")],
    "an absolute name": [member("/evil")],
    "an absolute link": [member("top/passwd", SYMLINK, target="/etc/passwd")],
    "a link above the top": [member("top/evil", SYMLINK, target="../../evil")],
    "a link to the folder around the top": [member("evil", SYMLINK, target="..")],
    "a link that climbs after a descent": [BELOW, member("top/evil", SYMLINK, target="bin/../../evil")],
    "an empty link": [member("top/evil", SYMLINK)],
    "a file through a link": [member("top/lib", SYMLINK, target="."), member("top/lib/evil", content=b"x")],
    "a file below a file": [member("top/lib", content=b"x"), member("top/lib/evil", content=b"x")],
    "a file twice": [member("top/lib", content=b"x"), member("top/lib", content=b"y")],
    "a link in place of a folder": [member("top/lib/x", content=b"x"), member("top/lib", SYMLINK, target="..")],
    "a hard link outside": [member("top/evil", HARDLINK, target="../../../etc/passwd")],
    "a hard link to a link": [BELOW, member("top/evil", HARDLINK, target="top/bin")],
    "a device": [member("top/null", DEVICE)],
    "a pipe": [member("top/pipe", FIFO)],
}


@pytest.mark.parametrize("members", REFUSED.values(), ids=REFUSED)
def test_a_hostile_tar_is_refused_and_nothing_gets_out(
    tmp_path: Path, into: Path, members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    archive = tar(tmp_path / "b.tar.gz", [member("top/ok", content=b"x"), *members])
    with pytest.raises(CorruptInput, match=r"b\.tar\.gz!/"):
        unpack(archive, into)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar.gz", "into"]


@pytest.mark.parametrize(("name", "mode"), [("../evil", stat.S_IFREG), ("fifo", stat.S_IFIFO), ("link", stat.S_IFLNK)])
def test_a_hostile_zip_is_refused(tmp_path: Path, into: Path, name: str, mode: int) -> None:
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = (mode | 0o644) << 16
        archive.writestr(info, b"/etc/passwd")
    with pytest.raises(CorruptInput):
        unpack(tmp_path / "b.zip", into)


def bomb(path: Path) -> Path:
    zeros = bytes(1 << 20)
    with gzip.open(path, "wb", compresslevel=1) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        info = tarfile.TarInfo("top/zeros")
        info.size = 1 << 50  # promised, never delivered: the promise is enough
        archive.addfile(info)
        packed.write(zeros)
    return path


def cut(path: Path) -> Path:
    whole = tar(path, [member("top/x", content=bytes(range(256)) * 4096)])
    content = whole.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return path


def wrong_checksum(path: Path) -> Path:
    content = bytearray(tar(path, HEALTHY).read_bytes())
    content[-8] ^= 1  # the CRC-32 in gzip's trailer, which tarfile alone does not read
    path.write_bytes(content)
    return path


def flipped_zstd(path: Path) -> Path:
    content = bytearray(zstd_tar(path).read_bytes())
    content[20] ^= 0xFF
    path.write_bytes(content)
    return path


def cut_zstd(path: Path) -> Path:
    content = zstd_tar(path).read_bytes()
    path.write_bytes(content[:-5])
    return path


def no_archive(path: Path) -> Path:
    path.write_text("just text")
    return path


def empty(path: Path) -> Path:
    return tar(path, [])


def cut_zip(path: Path) -> Path:
    path.write_bytes(b"PK\x03\x04 and nothing more")
    return path


@pytest.mark.parametrize("damaged", [bomb, cut, wrong_checksum, flipped_zstd, cut_zstd, no_archive, empty, cut_zip])
def test_damage_is_corrupt_input(tmp_path: Path, into: Path, damaged: Callable[[Path], Path]) -> None:
    with pytest.raises(CorruptInput):
        unpack(damaged(tmp_path / "b"), into)


def extended(headers: dict[str, str]) -> tuple[tarfile.TarInfo, bytes]:
    info, content = member("server-1.0/a", content=b"hello")
    info.pax_headers = headers
    return info, content


@pytest.mark.parametrize(
    "headers",
    [
        {"GNU.sparse.map": "a,b"},
        {"GNU.sparse.map": "0,5", "GNU.sparse.size": "x"},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "5"},
        {"size": "-1000000"},
        {"path": "../x"},
        {"size": "9" * 30},
    ],
    ids=str,
)
def test_extended_headers_that_lie_are_corrupt_input(tmp_path: Path, into: Path, headers: dict[str, str]) -> None:
    bundle = tar(tmp_path / "b.tar", [extended(headers)], "w:")
    with pytest.raises(CorruptInput):
        unpack(bundle, into)


@pytest.mark.parametrize("at", [0, 148, 257, 300])
def test_a_damaged_header_is_not_the_end_of_the_archive(tmp_path: Path, into: Path, at: int) -> None:
    bundle = tar(tmp_path / "b.tar", [member("top/a", content=b"x" * 512), member("top/b", content=b"y")], "w:")
    content = bytearray(bundle.read_bytes())
    content[1024 + at] ^= 0x41
    bundle.write_bytes(content)
    with pytest.raises(CorruptInput):
        unpack(bundle, into)


def test_headers_after_headers_are_corrupt_input(tmp_path: Path, into: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type = tarfile.XGLTYPE
    bundle = tmp_path / "b.tar"
    bundle.write_bytes(header.tobuf(tarfile.USTAR_FORMAT) * 3000)
    with pytest.raises(CorruptInput):
        unpack(bundle, into)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME], ids=["extended", "long name"])
def test_a_header_that_does_not_end_is_not_held(tmp_path: Path, into: Path, kind: bytes) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 1 << 40
    bundle = tmp_path / "b.tar.gz"
    bundle.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + b"1" * (4 << 20)))
    with pytest.raises(CorruptInput, match="a header of"):
        unpack(bundle, into)


def test_bytes_after_the_end_count_as_well(tmp_path: Path, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["pipeline.unpack.unpack"], "_EXPANSION_FREE", 1 << 20)
    whole = tar(tmp_path / "plain.tar", HEALTHY, "w:").read_bytes()
    bundle = tmp_path / "b.tar.zst"
    bundle.write_bytes(zstd.compress(whole + bytes(16 << 20)))
    with pytest.raises(CorruptInput, match="a bomb"):
        unpack(bundle, into)


def test_folders_too_deep_to_remove_are_refused(tmp_path: Path, into: Path) -> None:
    bundle = tar(tmp_path / "b.tar.gz", [member("/".join(["d"] * 1500))])
    with pytest.raises(CorruptInput, match="folders deep"):
        unpack(bundle, into)
    shutil.rmtree(into)


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"PK\1\2\x14\x03\x14", b"PK\1\2\x14\x03\xbb"), (b"name-\xc3\xa9", b"name-\xff\xa9")],
    ids=["version from the future", "name that is no text"],
)
def test_a_zip_that_lies_in_its_directory_is_corrupt_input(tmp_path: Path, into: Path, old: bytes, new: bytes) -> None:
    bundle = tmp_path / "b.zip"
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("top/name-\u00e9", b"hello")
    content = bundle.read_bytes()
    assert old in content
    bundle.write_bytes(content.replace(old, new))
    with pytest.raises(CorruptInput):
        unpack(bundle, into)


def test_a_plain_tar_whose_first_name_looks_like_a_zip(tmp_path: Path, into: Path) -> None:
    bundle = tar(tmp_path / "b.tar", [member("PKG/a", content=b"x")], "w:")
    assert unpack(bundle, into).name == "PKG"


def test_an_absent_bundle_is_a_usage_error(tmp_path: Path, into: Path) -> None:
    with pytest.raises(UsageError, match="no bundle"):
        unpack(tmp_path / "absent.tar.gz", into)


def test_a_full_disk_is_infrastructure(tmp_path: Path, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tar(tmp_path / "b.tar.gz", HEALTHY)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage._replace(free=10))
    with pytest.raises(InfrastructureError, match="no room"):
        unpack(archive, into)
