from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import UsageError
from pipeline.formats.budgets import Budgets
from pipeline.formats.facts import EntryKind, Inventory
from pipeline.inventory import digest_of, take_inventory
from tests.formats.artifacts import Library, ar_of, deb_of, gz, link, tar_of, wheel_of, xz, zip_of, zst
from tests.toolchain import Image, cubin, cubin_image, kernel_ptx, nvfatbin, ptx_image, ptxas

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.network
FILES = "lib/libk.so"


@pytest.fixture(scope="module")
def library() -> bytes:
    images = [cubin_image("13.0", "scale", "80"), ptx_image("13.0", "scale", "90")]
    return link(Library(fatbins=(nvfatbin("13.0", images, mode="size"),) * 2, soname="libk.so"))


def take(tmp_path: Path, content: bytes, *, deep: bool = False, budgets: Budgets | None = None) -> Inventory:
    path = tmp_path / "artifact"
    path.write_bytes(content)
    return take_inventory(path, deep=deep, budgets=budgets or Budgets())


def inner(inventory: Inventory) -> list[str]:
    """Printed container paths without the artifact's own."""
    return [str(fatbin.path).removeprefix(inventory.root) for fatbin in inventory.fatbins]


PACKERS: list[tuple[str, Callable[[dict[str, bytes]], bytes]]] = [
    ("tar", tar_of),
    ("tar.gz", lambda files: gz(tar_of(files))),
    ("tar.xz", lambda files: xz(tar_of(files))),
    ("tar.zst", lambda files: zst(tar_of(files))),
    ("zip", zip_of),
    ("whl", wheel_of),
]


@pytest.mark.parametrize("buffered", [100, 32 << 20])
@pytest.mark.parametrize(("name", "pack"), PACKERS)
def test_archives_are_entered(
    tmp_path: Path, library: bytes, name: str, pack: Callable[[dict[str, bytes]], bytes], buffered: int
) -> None:
    content = pack({FILES: library, "README": b"words"})
    inventory = take(tmp_path, content, budgets=Budgets(buffered=buffered))
    assert (inventory.format, inventory.size, inventory.damage) == (name, len(content), ())
    assert inventory.sha256 == hashlib.sha256(content).hexdigest()
    assert inner(inventory) == [f"!/{FILES}!/.nv_fatbin!/0", f"!/{FILES}!/.nv_fatbin!/1"]
    assert [elf.has_device_code for elf in inventory.elves] == [True]
    assert inventory.files[f"{inventory.root}!/README"] == 5
    assert inventory.files[f"{inventory.root}!/{FILES}"] == len(library)


def test_archives_in_archives(tmp_path: Path, library: bytes) -> None:
    content = library
    for pack in (tar_of, zip_of, lambda files: gz(tar_of(files)), wheel_of):
        content = pack({"m": content})
    inventory = take(tmp_path, content)
    assert inner(inventory) == [f"{'!/m' * 4}!/.nv_fatbin!/{index}" for index in (0, 1)]


def test_large_zips_inside_archives_are_streamed(tmp_path: Path, library: bytes) -> None:
    content = gz(tar_of({"w.whl": wheel_of({FILES: library, "b": os.urandom(3000)})}))
    inventory = take(tmp_path, content, budgets=Budgets(buffered=1000))
    assert inventory.damage == ()
    assert inner(inventory) == [f"!/w.whl!/{FILES}!/.nv_fatbin!/{index}" for index in (0, 1)]


def test_debian_packages_hold_file_systems(tmp_path: Path, library: bytes) -> None:
    content = deb_of({"usr/lib/libk.so": library}, links={"./usr/lib/libk.so.1": "/usr/lib/libk.so"})
    inventory = take(tmp_path, content)
    assert (inventory.format, inventory.damage) == ("deb", ())
    assert inner(inventory)[0] == "!/data.tar.xz!/usr/lib/libk.so!/.nv_fatbin!/0"
    assert list(inventory.links.values()) == ["/usr/lib/libk.so"]


def test_static_libraries(tmp_path: Path) -> None:
    fatbin = nvfatbin("13.0", [cubin_image("13.0", "scale", "80")])
    unit = link(Library(fatbins=(fatbin,), kind="object"))
    inventory = take(tmp_path, ar_of([("a.o", unit), ("a.o", unit)]))
    assert inventory.format == "ar"
    assert inner(inventory) == ["!/a.o!/.nv_fatbin!/0", "!/a.o#2!/.nv_fatbin!/0"]


def test_bare_device_code(tmp_path: Path) -> None:
    image = take(tmp_path, cubin("13.0", "scale", "90a")).bare[0].entry
    assert (image.kind, str(image.arch), image.code_version) == (EntryKind.CUBIN, "sm_90a", (1, 8))
    text = take(tmp_path, kernel_ptx("scale", "8.7", "sm_120f").encode()).bare[0].entry
    assert (text.kind, str(text.arch), str(text.ptx)) == (EntryKind.PTX, "compute_120f", "8.7")
    fatbin = nvfatbin("13.0", [cubin_image("13.0", "scale", "80")])
    bare = take(tmp_path, fatbin + bytes(16) + fatbin)
    assert (bare.format, inner(bare)) == ("fatbin", ["!/0", "!/1"])


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "empty"),
        (b"words", "data"),
        (b"GGUF\3", "gguf"),
        (b"\x7fELF\2\2\1" + bytes(57), "elf, not 64-bit little-endian"),
    ],
)
def test_what_is_only_named(tmp_path: Path, content: bytes, name: str) -> None:
    inventory = take(tmp_path, content)
    assert (inventory.format, inventory.damage, len(inventory.opaque)) == (name, (), 1)


@pytest.mark.parametrize("relocatable", [True, False])
def test_parts_that_a_library_links_itself_are_not_for_a_driver(tmp_path: Path, relocatable: bool) -> None:
    code = ptxas("12.8", "sm_90", kernel_ptx("scale", "8.7", "sm_90"), relocatable=relocatable)
    (tmp_path / "part.fatbin").write_bytes(nvfatbin("12.8", [Image("cubin", "90", code)]))
    (fatbin,) = take_inventory(tmp_path / "part.fatbin").fatbins
    assert fatbin.relocatable is relocatable


def test_what_a_runtime_registers_is_loaded_whatever_it_is(tmp_path: Path) -> None:
    code = ptxas("12.8", "sm_90", kernel_ptx("scale", "8.7", "sm_90"), relocatable=True)
    container = nvfatbin("12.8", [Image("cubin", "90", code)])
    (tmp_path / "lib.so").write_bytes(link(Library(fatbins=(container,))))
    (fatbin,) = take_inventory(tmp_path / "lib.so").fatbins
    assert not fatbin.relocatable


def test_directories(tmp_path: Path, library: bytes) -> None:
    (tmp_path / "d" / "lib").mkdir(parents=True)
    (tmp_path / "d" / "lib" / "libk.so").write_bytes(library)
    (tmp_path / "d" / "lib" / "libk.so.1").symlink_to("libk.so")
    (tmp_path / "d" / "out").symlink_to("/etc")
    (tmp_path / "d" / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "d" / "pipe")
    inventory = take_inventory(tmp_path / "d")
    assert (inventory.format, inventory.members, inventory.damage) == ("directory", 1, ())
    assert inner(inventory)[0] == "!/lib/libk.so!/.nv_fatbin!/0"
    assert set(inventory.links.values()) == {"libk.so", "/etc", "loop"}
    assert [item.what for item in inventory.opaque] == ["device, pipe or socket"]
    assert inventory.sha256 == digest_of(tmp_path / "d")


def test_an_empty_directory_is_nothing_and_no_error(tmp_path: Path) -> None:
    inventory = take_inventory(tmp_path)
    assert (inventory.members, inventory.size, inventory.damage) == (0, 0, ())


def test_progress_ends_at_its_total(tmp_path: Path, library: bytes) -> None:
    seen: list[tuple[int, int]] = []
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gz(tar_of({FILES: library})))
    take_inventory(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (path.stat().st_size,) * 2
    assert seen == sorted(seen)


def test_a_known_digest_is_not_taken_again(tmp_path: Path) -> None:
    assert take_inventory(tmp_path, sha256="00ff").sha256 == "00ff"


def test_no_such_path(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        take_inventory(tmp_path / "absent")


def test_a_deep_run_reports_damage_that_another_does_not_see(tmp_path: Path) -> None:
    content = bytearray(nvfatbin("13.0", [cubin_image("13.0", "k" * 3000, "80")], mode="size"))
    content[16 + 64 : 16 + 64 + 4] = b"\xff" * 4  # the frame's magic
    assert take(tmp_path, bytes(content)).damage == ()
    (damage,) = take(tmp_path, bytes(content), deep=True).damage
    assert str(damage.path).endswith("!/0!/0")


def test_nothing_heavy_is_imported_for_a_plain_file(tmp_path: Path) -> None:
    code = "import sys, pipeline.inventory; print([m for m in ('lz4', 'docker', 'numpy', 'yaml') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
