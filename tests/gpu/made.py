"""Containers made without NVIDIA's tools: right headers, payloads of zeros. Only a stand-in driver takes them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PAYLOAD = 20 << 10  # more than what is looked into without being asked to
_SUFFIX = {"": 0, "a": 0x100000, "f": 0x200000}


def cubin(arch: str, serial: int = 0, *, size: int = _PAYLOAD) -> bytes:
    """An entry with a cubin of toolkit 13.x for ``arch`` (``90a``); ``serial`` makes its bytes another's.

    One of up to 16 KiB is looked into, and has no kernels.
    """
    number = int(arch.rstrip("af"))
    flags = 0x06000000 | number << 8 | (4 if number <= 90 else 2)
    ident = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7)
    head = ident + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 0, flags, 64, 56, 0, 64, 0, 0)
    return _entry(2, arch, (1, 8), (head + serial.to_bytes(8, "little")).ljust(size, b"\0"))


def ptx(arch: str, version: str = "9.0", serial: int = 0) -> bytes:
    """An entry with PTX of that ISA version for ``arch``."""
    major, minor = version.split(".")
    text = f".version {version}\n.target sm_{arch}\n.address_size 64\n// {serial}\n.visible .entry k(){{ret;}}\n"
    return _entry(1, arch, (int(major), int(minor)), text.encode().ljust(_PAYLOAD, b"\n"))


def lto_ir(arch: str) -> bytes:
    """An entry that only a linker takes."""
    return _entry(8, arch, (9, 0), bytes(_PAYLOAD))


def _entry(kind: int, arch: str, version: tuple[int, int], payload: bytes) -> bytes:
    suffix = arch[-1] if arch[-1] in "af" else ""
    flags = 0x11 | _SUFFIX[suffix]
    fields = (kind, 0x0101, 64, len(payload), 0, 0, version[1], version[0], int(arch.rstrip("af")), 0, 0, flags, 0, 0)
    return struct.pack("<HHIQIIHHIIIQQQ", *fields) + payload


def fatbin(*entries: bytes) -> bytes:
    """A container of these entries."""
    content = b"".join(entries)
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, len(content)) + content


def library(path: Path, loaded: Sequence[bytes], relocatable: Sequence[bytes] = ()) -> Path:
    """A host ELF file with these containers in nvcc's two sections."""
    names = b"\0.nv_fatbin\0__nv_relfatbin\0.shstrtab\0"
    parts = [b"".join(loaded), b"".join(relocatable), names]
    offsets = [64 + sum(len(part) for part in parts[:index]) for index in range(len(parts))]
    rows = [bytes(64)]
    for name, kind, offset, part in zip((1, 12, 27), (1, 1, 3), offsets, parts, strict=True):
        rows.append(struct.pack("<IIQQQQIIQQ", name, kind, 2, 0, offset, len(part), 0, 0, 8, 0))
    table = 64 + sum(map(len, parts))
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, table, 0, 64, 56, 0, 64, len(rows), 3)
    path.write_bytes(head + b"".join(parts) + b"".join(rows))
    return path
