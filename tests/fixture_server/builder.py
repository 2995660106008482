"""Build the fixture server: for the CPU with g++, for GPUs with nvcc out of NVIDIA's wheels; kept by digest."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests import toolchain
from tests.fixture_server.told import right_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

INCLUDED = "logprobs.inc"
"""The file that the source includes, made with each build."""
SOURCE = Path(__file__).with_name("server.cu")
NAME = "llama-server"
# What cuda-toolkit[nvcc,crt,nvvm,cudart,cccl]==RELEASE pins.
CUDA_WHEELS = {
    "13.0.2": (
        "nvidia-cuda-nvcc==13.0.88",
        "nvidia-cuda-crt==13.0.88",
        "nvidia-nvvm==13.0.88",
        "nvidia-cuda-runtime==13.0.96",
        "nvidia-cuda-cccl==13.0.85",
    ),
    "13.1.1": (
        "nvidia-cuda-nvcc==13.1.115",
        "nvidia-cuda-crt==13.1.115",
        "nvidia-nvvm==13.1.115",
        "nvidia-cuda-runtime==13.1.80",
        "nvidia-cuda-cccl==13.1.115",
    ),
    "13.5.0": (
        "nvidia-cuda-nvcc==13.5.37",
        "nvidia-cuda-crt==13.5.37",
        "nvidia-nvvm==13.5.37",
        "nvidia-cuda-runtime==13.5.37",
        "nvidia-cuda-cccl==13.3.5.0.6",
    ),
}
OLDEST = "13.0.2"
_GXX = ("g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-x", "c++")


def cpu_server() -> Path:
    """The server without any CUDA; needs the C++ library of this machine."""
    return _built(_GXX)


def static_cpu_server() -> Path:
    """The same, running in an empty image."""
    return _built((*_GXX, "-static"))


def cuda_server(gencode: Sequence[str], *options: str, release: str = OLDEST) -> Path:
    """The server with device code for ``gencode`` (such as ``arch=compute_90,code=sm_90``); serves the CPU too."""
    home = cuda_home(release)
    wanted = [word for code in gencode for word in ("-gencode", code)]
    return _built((str(home / "bin" / "nvcc"), "-std=c++17", "-O1", *wanted, *options))


def cuda_home(release: str = OLDEST) -> Path:
    """A CUDA toolkit in one folder, as nvcc wants it, out of the wheels."""
    place = toolchain.cache() / f"cuda-home-{release}"
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=toolchain.cache()) as scratch:
            home = Path(scratch) / "home"
            for wheel in CUDA_WHEELS[release]:
                shutil.copytree(
                    toolchain.unpacked(wheel) / "nvidia" / "cu13", home, copy_function=os.link, dirs_exist_ok=True
                )
            for program in home.glob("nvvm/bin/*"):
                program.chmod(0o755)
            (home / "lib64").symlink_to("lib")
            _settle(home, place)
    return place


def damage_code(server: Path, copy: Path) -> None:
    """Copy ``server`` with the machine code of its cubins overwritten, their headers left as they are."""
    content = bytearray(server.read_bytes())
    for start in _cubins(content):
        for offset, size in _machine_code(content, start):
            content[offset : offset + size] = b"\xff" * size
    _write_program(copy, content)


def damage_image(server: Path, copy: Path) -> None:
    """Copy ``server`` with cubins that are no longer ELF files to a driver: their section tables lead nowhere."""
    content = bytearray(server.read_bytes())
    for start in _cubins(content):
        content[start + 40 : start + 48] = b"\xff" * 8
    _write_program(copy, content)


def _write_program(path: Path, content: bytearray) -> None:
    path.write_bytes(content)
    path.chmod(0o755)


def _machine_code(content: bytearray, start: int) -> list[tuple[int, int]]:
    """Offset and size of every ``.text`` section (PROGBITS, executable) of the ELF file at ``start``."""
    (table,) = struct.unpack_from("<Q", content, start + 40)
    size, count = struct.unpack_from("<HH", content, start + 58)
    found = []
    for at in range(start + table, start + table + size * count, size):
        _, kind, flags, _, offset, length = struct.unpack_from("<IIQQQQ", content, at)
        if kind == 1 and flags & 4:
            found.append((start + offset, length))
    return found


def _cubins(content: bytearray) -> list[int]:
    """Where ELF files for machine 190 (EM_CUDA) begin."""
    starts, at = [], content.find(b"\x7fELF")
    while at >= 0:
        if content[at + 18 : at + 20] == (190).to_bytes(2, "little"):
            starts.append(at)
        at = content.find(b"\x7fELF", at + 4)
    if not starts:
        raise ValueError("no plain cubin inside: built with --compress-mode=size?")
    return starts


def included(told: str | None = None) -> str:
    """What ``INCLUDED`` holds: the right answer, as a C++ string."""
    return f'R"told({told or json.dumps(right_answer(toolchain.cache()))})told"\n'


def _built(command: Sequence[str]) -> Path:
    told = json.dumps(right_answer(toolchain.cache()))
    key = hashlib.sha256(SOURCE.read_bytes() + "\0".join((*command, told)).encode()).hexdigest()
    place = toolchain.cache() / "fixture-server" / key[:16]
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=toolchain.cache()) as scratch:
            made = Path(scratch) / "made"
            made.mkdir()
            (Path(scratch) / INCLUDED).write_text(included(told))
            toolchain.run([*command, "-I", scratch, SOURCE, "-o", made / NAME])
            _settle(made, place)
    return place / NAME


def _settle(done: Path, place: Path) -> None:
    """Move a finished folder to its place, unless another process was faster."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        done.rename(place)
    except OSError:
        if not place.exists():
            raise
