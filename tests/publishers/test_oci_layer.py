"""A bundle is a layer as it is, or is packed anew so that every machine packs the same."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.digest import file_sha256
from pipeline.errors import CorruptInput, UsageError
from pipeline.publishers.oci import LAYER_GZIP, LAYER_TAR
from pipeline.publishers.oci_layer import BundleLayer, bundle_layer
from tests.publishers.release_bundles import packed

if TYPE_CHECKING:
    from pathlib import Path

SERVER = {"server-1.0/bin/server": b"program", "server-1.0/lib/libx.so": b"library"}


def layer_of(bundle: Path, scratch: Path) -> BundleLayer:
    return bundle_layer(bundle, file_sha256(bundle), "server-1.0", scratch)


def content_of(layer: BundleLayer) -> bytes:
    assert layer.layer.blob is not None
    with layer.layer.blob.opened() as file:
        return file.read()


def members(raw: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        return {member.name: member for member in tar}


def test_a_tar_gz_of_one_folder_is_a_layer_byte_for_byte(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "b.tar.gz", SERVER)
    layer = layer_of(bundle, tmp_path / "scratch")
    assert (layer.layer.media_type, layer.folder) == (LAYER_GZIP, "/server-1.0")
    assert content_of(layer) == bundle.read_bytes()
    assert layer.layer.digest == f"sha256:{file_sha256(bundle)}"
    assert layer.layer.diff_id == f"sha256:{hashlib.sha256(gzip.decompress(bundle.read_bytes())).hexdigest()}"
    assert layer.created == "2023-11-14T22:13:20Z"


@pytest.mark.parametrize(
    ("files", "changes"),
    [
        ({"bin/server": b"program"}, {}),
        ({"usr/bin/server": b"program"}, {}),
        ({"one/server": b"1", "two/server": b"2"}, {}),
        (SERVER, {"mode": 0o4755}),
        (SERVER, {"pax_headers": {"SCHILY.xattr.security.capability": "x"}}),
    ],
    ids=["a-folder-of-the-base", "usr", "two-folders", "set-id", "capabilities"],
)
def test_what_the_engine_would_take_otherwise_is_packed_anew(
    tmp_path: Path, files: dict[str, bytes], changes: dict[str, Any]
) -> None:
    layer = layer_of(packed(tmp_path / "b.tar.gz", files, **changes), tmp_path / "scratch")
    assert (layer.layer.media_type, layer.folder) == (LAYER_TAR, "/opt/server-1.0")
    assert layer.layer.diff_id == layer.layer.digest
    found = members(content_of(layer))
    assert {name.partition("/")[0] for name in found} == {"opt"}
    assert {(member.uid, member.gid, member.mtime, member.mode & 0o7000) for member in found.values()} == {(0, 0, 0, 0)}
    assert not any(member.pax_headers for member in found.values())


@pytest.mark.parametrize("mode", ["w:xz", "w:bz2", "w"])
def test_other_archives_are_packed_the_same(tmp_path: Path, mode: str) -> None:
    bundle = packed(tmp_path / "b.tar", SERVER, writing=mode)
    one, other = (layer_of(bundle, tmp_path / name) for name in ("one", "other"))
    assert one.layer.digest == other.layer.digest
    assert list(members(content_of(one))) == [
        "opt",
        "opt/server-1.0",
        *(f"opt/server-1.0/{name}" for name in ("bin", "bin/server", "lib", "lib/libx.so")),
    ]


def test_a_wheel_is_packed(tmp_path: Path) -> None:
    bundle = tmp_path / "server-1.0-py3-none-any.whl"
    with zipfile.ZipFile(bundle, "w") as wheel:
        wheel.writestr("server/__init__.py", "x = 1")
        wheel.writestr("server-1.0.dist-info/METADATA", "Name: server")
    layer = layer_of(bundle, tmp_path / "scratch")
    assert "opt/server-1.0/server/__init__.py" in members(content_of(layer))
    assert layer.created is None


def test_links_stay_links(tmp_path: Path) -> None:
    bundle = tmp_path / "b.tar.xz"
    with tarfile.open(bundle, "w:xz") as tar:
        for name, target in (("s/lib/libx.so.1", ""), ("s/lib/libx.so", "libx.so.1")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = (tarfile.SYMTYPE, target) if target else (tarfile.REGTYPE, "")
            tar.addfile(member)
    found = members(content_of(layer_of(bundle, tmp_path / "scratch")))
    assert found["opt/server-1.0/lib/libx.so"].linkname == "libx.so.1"


def test_a_whiteout_would_take_files_of_the_base_away(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "b.tar.gz", {**SERVER, "server-1.0/.wh..wh..opq": b""})
    with pytest.raises(UsageError, match=r"\.wh\."):
        layer_of(bundle, tmp_path / "scratch")


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd"])
def test_what_leads_outside_is_no_layer(tmp_path: Path, name: str) -> None:
    with pytest.raises(CorruptInput, match="leads outside"):
        layer_of(packed(tmp_path / "b.tar.gz", {**SERVER, name: b"x"}), tmp_path / "scratch")


def test_a_damaged_bundle_is_no_layer(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "b.tar.gz", SERVER)
    bundle.write_bytes(bundle.read_bytes()[:-8])
    with pytest.raises(CorruptInput):
        layer_of(bundle, tmp_path / "scratch")
