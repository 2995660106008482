"""The bytes of containers come back exactly, out of files, folders and archives in archives."""

from __future__ import annotations

import io
import lzma
import random
import tarfile
import threading
import zipfile
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import InfrastructureError
from pipeline.gpu.containers import Pieces, pour
from pipeline.inventory import take_inventory
from tests.gpu import made

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.paths import MemberPath

FATBINS = [made.fatbin(made.cubin("90", serial), made.ptx("80", serial=serial)) for serial in range(5)]
PTX = b".version 9.0\n.target sm_80\n.address_size 64\n"


def poured(path: Path) -> dict[str, bytes]:
    inventory = take_inventory(path)
    assert not inventory.damage
    found: dict[str, bytes] = {}

    def give(place: MemberPath, image: bytes) -> None:
        found["!".join(place.parts[1:])] = image

    pour(path, Pieces.of(inventory.fatbins, inventory.bare), give)
    assert len(found) == len(inventory.fatbins) + len(inventory.bare)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a library of five containers, a bare fatbin file, PTX, and members without device code."""
    place = tmp_path / "in"
    (place / "lib").mkdir(parents=True)
    made.library(place / "lib" / "a.so", FATBINS[:3], FATBINS[3:])
    (place / "b.fatbin").write_bytes(FATBINS[0] + FATBINS[1])
    (place / "c.ptx").write_bytes(PTX)
    (place / "readme").write_bytes(b"nothing" * 100_000)
    return place


EXPECTED = {f"lib/a.so!.nv_fatbin!{index}": FATBINS[index] for index in range(3)}
EXPECTED |= {f"lib/a.so!__nv_relfatbin!{index}": FATBINS[3 + index] for index in range(2)}
EXPECTED |= {"b.fatbin!0": FATBINS[0], "b.fatbin!1": FATBINS[1], "c.ptx": PTX}


def tarred(folder: Path, mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        archive.add(folder, ".")
    return buffer.getvalue()


def zipped(folder: Path, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, str(file.relative_to(folder)))
    return buffer.getvalue()


def test_a_folder(folder: Path) -> None:
    assert poured(folder) == EXPECTED


def test_a_single_file(folder: Path) -> None:
    found = poured(folder / "lib" / "a.so")
    assert found == {name.partition("!")[2]: image for name, image in EXPECTED.items() if name.startswith("lib/a.so")}
    assert poured(folder / "c.ptx") == {"": PTX}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_a_tar_archive(folder: Path, tmp_path: Path, mode: str) -> None:
    (tmp_path / "bundle").write_bytes(tarred(folder, mode))
    assert poured(tmp_path / "bundle") == EXPECTED


def test_a_zip_archive(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(zipped(folder))
    assert poured(tmp_path / "bundle.zip") == EXPECTED


def test_a_zip_archive_is_read_by_one_thread(folder: Path, tmp_path: Path) -> None:
    """An inventory reads large members beside small ones; containers are given one after the other."""
    (folder / "large").write_bytes(random.Random(1).randbytes(9 << 20) + FATBINS[0])
    made.library(folder / "big.so", [made.fatbin(made.cubin("90", size=9 << 20))])
    (tmp_path / "bundle.zip").write_bytes(zipped(folder, zipfile.ZIP_STORED))
    inventory, threads = take_inventory(tmp_path / "bundle.zip"), set[int]()
    pieces = Pieces.of(inventory.fatbins, inventory.bare)
    pour(tmp_path / "bundle.zip", pieces, lambda _place, _image: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


def test_archives_in_archives(folder: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    (outer / "one.tar.gz").write_bytes(tarred(folder, "w:gz"))
    (outer / "two.whl").write_bytes(zipped(folder))
    (outer / "three.fatbin.xz").write_bytes(lzma.compress(FATBINS[4]))
    (tmp_path / "bundle.tar").write_bytes(tarred(outer, "w"))
    expected = {f"{name}!{place}": image for name in ("one.tar.gz", "two.whl") for place, image in EXPECTED.items()}
    assert poured(tmp_path / "bundle.tar") == expected | {"three.fatbin.xz!content!0": FATBINS[4]}


def test_only_what_is_wanted_is_given(folder: Path) -> None:
    inventory = take_inventory(folder)
    pieces = Pieces.of([fatbin for fatbin in inventory.fatbins if fatbin.index == 1], ())
    given: list[bytes] = []
    pour(folder, pieces, lambda _place, image: given.append(image))
    assert sorted(given) == sorted([FATBINS[1], FATBINS[4], FATBINS[1]])


def test_an_artifact_that_has_changed_is_noticed(folder: Path) -> None:
    inventory = take_inventory(folder)
    pieces = Pieces.of(inventory.fatbins, inventory.bare)
    (folder / "b.fatbin").unlink()
    with pytest.raises(InfrastructureError, match="2 containers are not there any more"):
        pour(folder, pieces, lambda _place, _image: None)
