"""Released libraries, read as NVIDIA's own cuobjdump reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pipeline.formats.facts import EntryFacts, EntryKind, FatbinFacts, Inventory
from pipeline.inventory import take_inventory
from tests.toolchain import ToolFailed, cuobjdump, unpacked, wheel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.network
BITSANDBYTES = "bitsandbytes==0.50.2"
LARGER = ("nvidia-cublas==13.10.0.20", "nvidia-curand==10.4.5.25", "nvidia-nccl-cu13==2.32.3", "ctranslate2==4.8.5")
_ARCH = re.compile(r"\.(?:sm|compute)_([0-9]+)[af]?\.(?:cubin|ptx)")
# cuobjdump 13.5 calls one device-linked image of toolkit 12.1 an invalid ELF and gives up; the image is whole.
UNREADABLE_FOR_CUOBJDUMP = {"libbitsandbytes_cuda121.so"}


def images(fatbins: Iterable[FatbinFacts]) -> list[EntryFacts]:
    return [image for fatbin in fatbins for entry in fatbin.entries for image in (entry.nested or (entry,))]


def listed(fatbins: Sequence[FatbinFacts], kind: EntryKind) -> list[str]:
    return [str(image.arch.number) for image in images(fatbins) if image.kind == kind and image.arch]


def shown(lines: list[str]) -> list[str]:
    return [found[1] for line in lines if (found := _ARCH.search(line))]


def agrees(library: Path) -> Inventory:
    """cuobjdump shows linked code alone unless there is none, and none that lies in other sections than nvcc's."""
    inventory = take_inventory(library, sha256="0")
    assert inventory.damage == ()
    nvcc = [fatbin for fatbin in inventory.fatbins if not fatbin.embedded]
    linked = [fatbin for fatbin in nvcc if not fatbin.relocatable] or nvcc
    assert listed(linked, EntryKind.CUBIN) == shown(cuobjdump(library, "--list-elf"))
    assert listed(linked, EntryKind.PTX) == shown(cuobjdump(library, "--list-ptx"))
    return inventory


def libraries(requirement: str) -> list[Path]:
    found = [path for path in sorted(unpacked(requirement).rglob("*.so*")) if path.is_file()]
    assert found, f"{requirement} has no libraries"
    return found


def test_entries_equal_those_of_cuobjdump() -> None:
    counted = 0
    for library in libraries(BITSANDBYTES):
        if library.name not in UNREADABLE_FOR_CUOBJDUMP:
            counted += len(images(agrees(library).fatbins))
    assert counted == 337


def test_what_cuobjdump_gives_up_on_is_whole() -> None:
    (library,) = [path for path in libraries(BITSANDBYTES) if path.name in UNREADABLE_FOR_CUOBJDUMP]
    inventory = take_inventory(library, deep=True)
    assert inventory.damage == ()
    assert listed([f for f in inventory.fatbins if not f.relocatable], EntryKind.CUBIN) == [
        "60",
        "70",
        "75",
        "80",
        "86",
        "89",
        "90",
    ]
    with pytest.raises(ToolFailed, match="Invalid ELF"):
        cuobjdump(library, "--list-elf")


def test_a_wheel_gives_what_its_files_give() -> None:
    inventory = take_inventory(wheel(BITSANDBYTES))
    assert (inventory.format, inventory.damage, len(inventory.fatbins)) == ("whl", (), 49)
    by_toolkit = {
        str(fatbin.path).split("_cuda")[1][:3]: {image.codec.value for image in images([fatbin])}
        for fatbin in inventory.fatbins
        if not fatbin.relocatable
    }
    assert {toolkit for toolkit, codecs in by_toolkit.items() if codecs == {"zstd"}} == {"130", "132"}


@pytest.mark.slow
def test_containers_that_cuobjdump_does_not_look_for() -> None:
    (library,) = [path for path in libraries("nvidia-curand==10.4.5.25") if path.name.startswith("libcurand")]
    inventory = take_inventory(library, sha256="0", deep=True)
    assert inventory.damage == ()
    assert len([fatbin for fatbin in inventory.fatbins if fatbin.embedded]) == 1747


@pytest.mark.slow
@pytest.mark.parametrize("requirement", LARGER)
def test_larger_libraries(requirement: str) -> None:
    assert sum(len(agrees(library).fatbins) for library in libraries(requirement)) > 0
