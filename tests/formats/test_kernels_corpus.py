"""Kernel lists of real libraries equal to what cuobjdump says: names, registers and shared memory, image by image."""

from __future__ import annotations

import os
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.inventory import take_inventory
from pipeline.model.image import EntryKind
from tests.toolchain import ToolFailed, cuobjdump, unpacked, wheel

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.network

RELEASED = ("ctranslate2==4.6.0", "libraft-cu12==25.8.0")
BITSANDBYTES = "bitsandbytes==0.50.2"
_ARCH = re.compile(r"arch = (sm_[0-9]+)")
_FUNCTION = re.compile(r" Function (\S+):")
_USAGE = re.compile(r"  REG:([0-9]+) .*?SHARED:([0-9]+)")
Kernel = tuple[str, str, int, int]


def images_by_cuobjdump(library: Path) -> Iterator[frozenset[Kernel]]:
    """Entry functions of each image with a kernel: architecture, name, registers, shared memory."""
    usage = usages(library)
    arch = ""
    entries: list[str] = []
    for line in [*cuobjdump(library, "--dump-elf-symbols"), "Fatbin elf code:"]:
        if line.startswith("Fatbin"):
            if entries:
                image = next(usage)
                yield frozenset(image[name] for name in entries)
            arch, entries = "", []
        elif found := _ARCH.match(line):
            arch = found[1]
        elif arch and line.startswith("FUNC") and line.split()[3] == "ENTRY":
            entries.append(line.split()[4])


def usages(library: Path) -> Iterator[dict[str, Kernel]]:
    """Each image with functions that ``-res-usage`` tells about, by function."""
    arch = name = ""
    found: dict[str, Kernel] = {}
    for line in [*cuobjdump(library, "-res-usage"), "Fatbin elf code:"]:
        if line.startswith("Fatbin"):
            if found:
                yield found
            found = {}
        elif match := _ARCH.match(line):
            arch = match[1]
        elif match := _FUNCTION.match(line):
            name = match[1]
        elif match := _USAGE.match(line):
            found[name] = (arch, name, int(match[1]), int(match[2]))


def images_by_us(library: Path) -> Iterator[frozenset[Kernel]]:
    """The same of ours; cuobjdump does not look for containers that wait for a device link or lie in other data."""
    for fatbin in take_inventory(library, kernels=True, sha256="0").fatbins:
        for entry in () if fatbin.relocatable or fatbin.embedded else fatbin.entries:
            if entry.kind is EntryKind.CUBIN and entry.kernels:
                assert entry.arch is not None
                yield frozenset(
                    (f"sm_{entry.arch.number}", kernel.name, kernel.registers or 0, kernel.static_shared or 0)
                    for kernel in entry.kernels
                )


def agree(library: Path) -> int:
    ours = Counter(images_by_us(library))
    assert ours == Counter(images_by_cuobjdump(library))
    return sum(len(image) * count for image, count in ours.items())


def test_kernels_of_a_library_equal_cuobjdumps() -> None:
    folder = unpacked(BITSANDBYTES) / "bitsandbytes"
    assert agree(folder / "libbitsandbytes_cuda130.so") == 1414


def agree_where_readable(library: Path) -> int:
    """Like ``agree``; 0 for the few whole libraries that cuobjdump calls an invalid ELF."""
    try:
        return agree(library)
    except ToolFailed as failure:
        if "Invalid ELF" not in str(failure):
            raise
        return 0


@pytest.mark.slow
def test_kernels_of_every_bitsandbytes_equal_cuobjdumps() -> None:
    libraries = (unpacked(BITSANDBYTES) / "bitsandbytes").glob("libbitsandbytes_cuda*.so")
    assert sum(agree_where_readable(library) for library in libraries) > 5_000


@pytest.mark.slow
def test_kernels_of_released_wheels_equal_cuobjdumps(tmp_path: Path) -> None:
    """The libraries of some small wheels, or of those in the folder that CUBINGATE_WHEELS names."""
    folder = os.environ.get("CUBINGATE_WHEELS")
    wheels = sorted(Path(folder).glob("*.whl")) if folder else [wheel(requirement) for requirement in RELEASED]
    assert wheels
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if ".so" in name and b".nv_fatbin" in archive.read(name):
                    print(name, agree_where_readable(Path(archive.extract(name, tmp_path))))
