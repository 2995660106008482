"""Which architecture and which PTX ISA have each feature first, asked of ptxas and NVRTC themselves."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.regenerate.compare import Cell
from tests.regenerate.measure import PTX_VERSIONS, listed_archs
from tests.toolchain import ToolFailed, cache, run, tool, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.policy.tables import Row

# The last toolkit that knows Pascal and Volta, and the newest: together they know every architecture.
OLD, NEW = "12.9", "13.5"
NVRTC = "nvidia-cuda-nvrtc-cu12==12.9.86"
_NEWEST_PTX = {OLD: "8.8", NEW: "9.5"}
_FRAME = """.version {version}
.target sm_{arch}
.address_size 64
.visible .entry k(.param .u64 param)
{{
.reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %d<4>;
{body}
ret;
}}
"""


def feature_cells(rows: list[Row]) -> Iterator[Cell]:
    """Every cell of ptx_features.csv that a compiler can answer."""
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        for place, row in enumerate(rows):
            if row["language"] == "ptx":
                yield from _ptx_cells(place, row, Path(folder))
            else:
                first = next((arch for arch in _nvrtc_archs() if _nvrtc_takes(row["example"], arch)), "none")
                yield _cell(place, row, "first_arch", first, ("NVRTC 12.9", "m-nvrtc"))


def _ptx_cells(place: int, row: Row, folder: Path) -> Iterator[Cell]:
    body = row["example"]
    known = [(toolkit, arch) for toolkit, arch in _archs() if _ptxas_takes(toolkit, arch, None, body, folder)]
    if not known:
        raise ToolFailed(f"no ptxas takes the example of {row['feature']}")
    toolkit, arch = known[0]
    yield _cell(place, row, "first_arch", arch, (f"ptxas {toolkit}", "m-ptxas"))
    first = next(version for version in PTX_VERSIONS if _ptxas_takes(toolkit, arch, version, body, folder))
    yield _cell(place, row, "ptx", first, (f"ptxas {toolkit}", "m-ptxas"))


def _cell(place: int, row: Row, column: str, measured: str, asked: tuple[str, str]) -> Cell:
    return Cell(
        table="ptx_features",
        row=place,
        key=row["feature"],
        column=column,
        stated=row[column],
        measured=measured,
        tool=asked[0],
        source=asked[1],
    )


@functools.cache
def _archs() -> tuple[tuple[str, str], ...]:
    """Every architecture in rising order, each with a toolkit that knows it."""
    of = {toolkit: listed_archs(run([tool(toolkit, "ptxas"), "--help"])) for toolkit in (OLD, NEW)}
    old = ((OLD, arch) for arch in of[OLD] if arch not in of[NEW] and int(arch.rstrip("af")) < 75)
    return (*old, *((NEW, arch) for arch in of[NEW]))


def _ptxas_takes(toolkit: str, arch: str, version: str | None, body: str, folder: Path) -> bool:
    text = _FRAME.format(version=version or _NEWEST_PTX[toolkit], arch=arch, body=body)
    (folder / "k.ptx").write_text(text)
    command: list[str | Path] = [tool(toolkit, "ptxas"), "-arch", f"sm_{arch}", "k.ptx", "-o", "k.cubin"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0


@functools.cache
def _nvrtc() -> ctypes.CDLL:
    return ctypes.CDLL(str(next(unpacked(NVRTC).glob("**/libnvrtc.so.12"))))


@functools.cache
def _nvrtc_archs() -> tuple[str, ...]:
    library, count = _nvrtc(), ctypes.c_int()
    library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    library.nvrtcGetSupportedArchs(numbers)
    return tuple(str(number) for number in sorted(numbers))


def _nvrtc_takes(source: str, arch: str) -> bool:
    library, program = _nvrtc(), ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
    options = (ctypes.c_char_p * 1)(f"-arch=compute_{arch}".encode())
    status = library.nvrtcCompileProgram(program, 1, options)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return bool(status == 0)
