"""The bytes of the containers in images, read a second time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.gpu.containers import Pieces, pour
from pipeline.inventory import take_inventory
from tests.formats.artifacts import gz, tar_of
from tests.gpu import made
from tests.inventory.images import Layout, Member, layer, oci, saved, write_folder

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.model.paths import MemberPath

FATBINS = [made.fatbin(made.cubin("90", serial), made.ptx("80", serial=serial)) for serial in range(3)]


@pytest.fixture
def layers(tmp_path: Path) -> list[bytes]:
    made.library(tmp_path / "a.so", FATBINS[:2], [])
    library = (tmp_path / "a.so").read_bytes()
    lower = layer(Member("gone.so", library), Member("lib/a.so", library), Member("changed.fatbin", FATBINS[0]))
    return [lower, layer(Member(".wh.gone.so"), Member("changed.fatbin", FATBINS[2]))]


def poured(path: Path) -> dict[str, bytes]:
    inventory = take_inventory(path)
    assert not inventory.damage
    found: dict[str, bytes] = {}

    def give(place: MemberPath, image: bytes) -> None:
        found["!".join(place.parts[2:])] = image

    pour(path, Pieces.of(inventory.fatbins, inventory.bare), give)
    return found


def test_what_is_there_at_the_end_is_given(tmp_path: Path, layers: list[bytes]) -> None:
    layout = Layout()
    for machine in ("amd64", "arm64"):
        row = layout.image(layers, packed=[gz(data) for data in layers], platform=f"linux/{machine}")
        layout.listed.append({**row, "platform": {"os": "linux", "architecture": machine}})
    for number, files in enumerate((saved(*layers), oci(*layers), layout.parts())):
        path = tmp_path / f"{number}.tar"
        path.write_bytes(tar_of(files))
        ways = [path] if number == 0 else [path, write_folder(tmp_path / str(number), files)]
        for way in ways:
            assert poured(way) == {
                "lib/a.so!.nv_fatbin!0": FATBINS[0],
                "lib/a.so!.nv_fatbin!1": FATBINS[1],
                "changed.fatbin!0": FATBINS[2],
            }
