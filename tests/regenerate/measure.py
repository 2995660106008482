"""What the tools of one toolkit say: ptxas by its help and by probes, libnvfatbin and fatbinary by what they pack."""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.toolchain import (
    TOOLKITS,
    Image,
    ToolFailed,
    cache,
    fatbinary,
    kernel_ptx,
    nvfatbin,
    ptxas,
    run,
    tool,
    unpacked,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Every PTX ISA version of the manual's release history that matters here, and the next that may come.
PTX_VERSIONS = (
    *("3.0", "3.1", "3.2", "4.0", "4.1", "4.2", "4.3", "5.0", "5.1", "6.0", "6.1", "6.2", "6.3", "6.4", "6.5"),
    *("7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8"),
    *("8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8"),
    *("9.0", "9.1", "9.2", "9.3", "9.4", "9.5", "9.6", "9.7", "9.8", "9.9", "10.0"),
)
MODES = ("speed", "balance", "size", "none")
_EVERY_PTXAS_HAS = "sm_75"
_NAME = re.compile(r"'sm_([0-9]+)([af]?)'")
_ABI_VERSION = 8  # byte of the ELF identification

# The container, read here by hand: what is measured must not rest on the reader that the tables serve.
_CONTAINER, _ENTRY = struct.Struct("<IHHQ"), struct.Struct("<HHIQ")
_MAGIC, _FLAGS, _LZ4, _ZSTD = 0xBA55ED50, 40, 0x2000, 0x8000
_KINDS = {1: "ptx", 2: "cubin"}


@dataclass(frozen=True, slots=True)
class Measurement:
    """One toolkit. ``archs`` are bare names (``90a``), in order; ``abi`` is the cubin's ABI version for each of them.

    ``minimum`` is the lowest PTX ISA in which each architecture is accepted. ``codecs`` is what a packer uses, by
    (packer, mode, kind); ``concat`` says whether fatbinary offers it, ``None`` where the wheels have no fatbinary.
    """

    toolkit: str
    ptx: str
    archs: tuple[str, ...]
    abi: dict[str, int]
    minimum: dict[str, str]
    codecs: dict[tuple[str, str, str], str] = field(default_factory=dict)
    concat: bool | None = None


def measure(toolkit: str) -> Measurement:
    """Ask everything of one toolkit's wheels; ``ToolFailed`` where a tool does not answer as expected."""
    archs = listed_archs(run([tool(toolkit, "ptxas"), "--help"]))
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        accepts = _Probe(tool(toolkit, "ptxas"), Path(folder))
        newest = _last(PTX_VERSIONS, accepts.taking(_EVERY_PTXAS_HAS))
        known = PTX_VERSIONS[: PTX_VERSIONS.index(newest) + 1]
        minimum = {arch: _first(known, accepts.taking(f"sm_{arch}")) for arch in archs}
    abi = {arch: ptxas(toolkit, f"sm_{arch}", kernel_ptx("k", newest, f"sm_{arch}"))[_ABI_VERSION] for arch in archs}
    return Measurement(toolkit, newest, archs, abi, minimum, _codecs(toolkit, newest), _concat(toolkit))


def listed_archs(text: str) -> tuple[str, ...]:
    """The real architectures that ``ptxas --help`` lists for --gpu-name."""
    section = text.partition("--gpu-name")[2].partition("\n\n")[0]
    found = {(int(number), suffix) for number, suffix in _NAME.findall(section)}
    if not found:
        raise ToolFailed("ptxas --help lists no architecture")
    return tuple(f"{number}{suffix}" for number, suffix in sorted(found))


@dataclass(frozen=True, slots=True)
class _Probe:
    """Whether ptxas takes a program of a version for a target. It has a kernel: without one ptxas does not check."""

    program: Path
    folder: Path

    def taking(self, target: str) -> Callable[[str], bool]:
        """The question whether a version is taken for this target."""
        return partial(self._takes, target)

    def _takes(self, target: str, version: str) -> bool:
        text = f".version {version}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\nret;\n}}\n"
        (self.folder / "probe.ptx").write_text(text)
        command: list[str | Path] = [self.program, "-arch", target, "probe.ptx", "-o", "probe.cubin"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode and "version" not in (words := done.stdout + done.stderr).lower():
            raise ToolFailed(f"{self.program} on PTX {version} for {target}: {words.strip()[:300]}")
        return done.returncode == 0


def _first(versions: Sequence[str], accepted: Callable[[str], bool]) -> str:
    """The first accepted of versions that are refused up to some point and accepted from there on."""
    low, high = 0, len(versions) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if accepted(versions[middle]) else (middle + 1, high)
    if not accepted(versions[low]):
        raise ToolFailed(f"no PTX version up to {versions[-1]} is accepted")
    return versions[low]


def _last(versions: Sequence[str], accepted: Callable[[str], bool]) -> str:
    """The last accepted of versions; the very last must be refused, or the list is too short to tell."""
    if accepted(versions[-1]):
        raise ToolFailed(f"PTX {versions[-1]} is accepted: add newer versions to the list")
    return next(version for version in reversed(versions) if accepted(version))


def _codecs(toolkit: str, ptx: str) -> dict[tuple[str, str, str], str]:
    """Codec by packer, mode and kind; libraries before 12.6 know no mode but their default."""
    text = kernel_ptx("k", ptx, _EVERY_PTXAS_HAS, lines=400)
    images = [Image("cubin", "75", ptxas(toolkit, _EVERY_PTXAS_HAS, text)), Image("ptx", "75", text.encode())]
    found: dict[tuple[str, str, str], str] = {}
    if TOOLKITS[toolkit].nvfatbin is not None:
        found |= _packed("libnvfatbin", lambda mode: nvfatbin(toolkit, images, mode=mode))
    if _fatbinaries(toolkit):
        found |= _packed("fatbinary", lambda mode: fatbinary(toolkit, images, mode=mode or "default"))
    return found


def _packed(packer: str, pack: Callable[[str | None], bytes]) -> dict[tuple[str, str, str], str]:
    found = {(packer, "default", kind): codec for kind, codec in codecs_in(pack(None))}
    for mode in MODES:
        try:
            container = pack(mode)
        except ToolFailed:
            return found  # compared with the table, which says whether there should have been modes
        found |= {(packer, mode, kind): codec for kind, codec in codecs_in(container)}
    return found


def codecs_in(container: bytes) -> list[tuple[str, str]]:
    """Kind and codec of each entry."""
    magic, _, header, size = _CONTAINER.unpack_from(container)
    if magic != _MAGIC:
        raise ToolFailed("libnvfatbin wrote something else than a container")
    found, offset = [], header
    while offset < header + size:
        kind, _, entry, payload = _ENTRY.unpack_from(container, offset)
        (flags,) = struct.unpack_from("<Q", container, offset + _FLAGS)
        found.append((_KINDS[kind], "zstd" if flags & _ZSTD else "lz4" if flags & _LZ4 else "none"))
        offset += entry + payload
    return found


def _concat(toolkit: str) -> bool | None:
    programs = _fatbinaries(toolkit)
    return "--concat" in run([programs[0], "--help"]) if programs else None


def _fatbinaries(toolkit: str) -> list[Path]:
    return sorted(unpacked(TOOLKITS[toolkit].nvcc).glob("**/bin/fatbinary"))
