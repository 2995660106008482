"""Which kernels a bundle's server launches while it is smoked: ``launches.c`` stands between it and libcudart."""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("launches.c")


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel that was launched, and where in the server's file its container lies."""

    container: int
    kernel: str


def instrument(bundle: Path, copy: Path, log: Path) -> None:
    """Copy the folder ``bundle`` so that its server writes its launches to ``log`` before it does anything else."""
    shutil.copytree(bundle, copy, symlinks=True)
    server = next(copy.rglob("bin/llama-server"))
    real = server.with_name("llama-server.traced")
    server.rename(real)
    library = server.with_name("launches.so")
    build(library)
    server.write_text(
        f'#!/bin/sh\nexport LAUNCHES={log}\nexport LD_PRELOAD="$(dirname "$0")/{library.name}"\n'
        f'exec "$(dirname "$0")/{real.name}" "$@"\n'
    )
    server.chmod(0o755)


def build(library: Path) -> None:
    flags = ["-O2", "-shared", "-fPIC", "-Wall", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", library, SOURCE, "-ldl"], check=True, capture_output=True)


def launched(log: Path, server: bytes) -> list[Launch]:
    """What is in the log, each once, in the order of first launches; a smoke may start the server several times."""
    lines = (line.partition(" ") for line in log.read_text().splitlines())
    found = (Launch(file_offset(server, int(address, 16)), kernel) for address, _, kernel in lines)
    return list(dict.fromkeys(found))


def file_offset(program: bytes, address: int) -> int:
    """Where the bytes at a virtual address of an ELF program lie in its file."""
    (table,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    for at in range(table, table + size * count, size):
        kind, _, offset, start, _, length = struct.unpack_from("<IIQQQQ", program, at)
        if kind == 1 and start <= address < start + length:
            return int(offset + address - start)
    raise ValueError(f"no part of the program is at {address:#x}")
