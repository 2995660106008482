"""The stand-in driver for tests: built by gcc once per session, told what to answer row by row."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).parent / "libcuda.c"
VERSION = "580.159.04"
SUCCESS, NO_BINARY = "CUDA_SUCCESS", "CUDA_ERROR_NO_BINARY_FOR_GPU"
JIT_DISABLED, BAD_PTX = "CUDA_ERROR_JIT_COMPILATION_DISABLED", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"


def build(folder: Path, *, version: str = VERSION) -> Path:
    """Build it as a driver package lays it out; return the folder for LD_LIBRARY_PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"libcuda.so.{version}"
    flags = ["-shared", "-fPIC", "-O2", "-fvisibility=hidden"]
    subprocess.run(["gcc", *flags, "-Wl,-soname,libcuda.so.1", "-o", library, SOURCE], check=True, capture_output=True)
    (folder / "libcuda.so.1").symlink_to(library.name)
    return folder


def fnv1a(content: bytes) -> int:
    """The digest by which the stand-in knows an image."""
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def dashed(kind: str, digits: str) -> str:
    """A UUID as NVIDIA spells it."""
    return f"{kind}-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@dataclass(slots=True)
class StandIn:
    """A driver to be: where the library lies, and the rows of its table."""

    library: Path
    folder: Path
    rows: list[str] = field(default_factory=list)
    more: dict[str, str] = field(default_factory=dict)

    def answers(self, content: bytes, as_is: str, forbidden: str = "", forced: str = "") -> bytes:
        """Have it answer so for ``content``, which is returned; a pass without an answer gets that of ``as_is``."""
        self.rows.append(f"{fnv1a(content):016x} {as_is} {forbidden or as_is} {forced or as_is}")
        return content

    def environment(self) -> dict[str, str]:
        """The variables under which a process finds this driver and its table."""
        table = self.folder / "answers"
        table.write_text("".join(f"{row}\n" for row in self.rows))
        device = f"NVIDIA H200|90|{self.digits}|{self.digits}"
        told = {"STANDIN_ANSWERS": str(table), "STANDIN_LOG": str(self.log), "STANDIN_DEVICES": device}
        return {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(self.library), **told, **self.more}

    @property
    def digits(self) -> str:
        """The digits of its device's UUID: its own, since devices are locked for the whole machine."""
        return hashlib.md5(str(self.folder).encode(), usedforsecurity=False).hexdigest()

    @property
    def uuid(self) -> str:
        """The UUID of its device."""
        return dashed("GPU", self.digits)

    @property
    def log(self) -> Path:
        """One line for each load: process, pass, digest, answer, CUDA_MODULE_LOADING."""
        return self.folder / "loads"

    def loads(self) -> list[list[str]]:
        """The lines of the log, split."""
        return [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []
