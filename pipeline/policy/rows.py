"""One row of each policy table, as the rules read it; the source and date columns stay in the tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.model.arch import Gpu, TargetArch
    from pipeline.model.image import Codec
    from pipeline.model.versions import (
        DottedVersion,
        DriverVersion,
        GlibcVersion,
        GlibcxxVersion,
        PtxVersion,
        ToolkitVersion,
    )


@dataclass(frozen=True, slots=True)
class Branch:
    """A driver branch: the CUDA version and newest PTX ISA it knows, and the driver its toolkit shipped with."""

    number: int
    cuda: ToolkitVersion
    max_ptx: PtxVersion
    first_driver: DriverVersion | None
    kind: str
    eol: str

    @property
    def label(self) -> str:
        """The usual spelling: ``R535``."""
        return f"R{self.number}"


@dataclass(frozen=True, slots=True)
class ToolkitRow:
    """A toolkit: the PTX ISA it writes, the real architectures it emits and the lowest driver for its cubins.

    ``cubin_floor`` is minor version compatibility: the floor of its major, for machine code only. ``abi_up_to_90``
    and ``abi_from_100`` are the cubin ABI generations it writes (0: it has no such target); ``concat`` says whether it
    can write concatenated containers.
    """

    version: ToolkitVersion
    ptx: PtxVersion
    archs: tuple[TargetArch, ...]
    cubin_floor: DriverVersion
    own_driver: DriverVersion
    abi_up_to_90: int
    abi_from_100: int
    concat: bool


@dataclass(frozen=True, slots=True)
class AssemblerRow:
    """A wheel with the ptxas of one toolkit, pinned by the SHA-256 of its bytes.

    ``platform`` is the machine that it runs on (``x86_64``). Which PTX it reads and which SMs it knows is the
    toolkit's.
    """

    toolkit: ToolkitRow
    platform: str
    package: str
    version: str
    filename: str
    sha256: str

    @property
    def name(self) -> str:
        """What reports call it: ``ptxas 12.2.140``."""
        return f"ptxas {self.version}"

    def knows(self, arch: str) -> bool:
        """Whether it emits code for that architecture (``90a``)."""
        return any(emitted.name == arch for emitted in self.toolkit.archs)


@dataclass(frozen=True, slots=True)
class GpuRow:
    """A GPU generation: what it is called, which drivers serve it, how much shared memory a block may ask for.

    ``last_branch`` is ``None`` while newer branches still serve it; ``shared_memory_opt_in`` (bytes) where documented.
    """

    gpu: Gpu
    name: str
    products: tuple[str, ...]
    first_driver: DriverVersion
    last_branch: int | None
    shared_memory_opt_in: int | None
    suffixes: str


@dataclass(frozen=True, slots=True)
class CompressionRow:
    """What one ``--compress-mode`` packs an image kind with, over a range of toolkits."""

    first_toolkit: ToolkitVersion
    last_toolkit: ToolkitVersion
    mode: str
    kind: str
    codec: Codec


@dataclass(frozen=True, slots=True)
class KindRow:
    """A fatbin entry kind; ``driver_floor`` is ``None`` where every listed driver knows it or nobody loads it."""

    kind: int
    name: str
    driver_floor: DriverVersion | None


@dataclass(frozen=True, slots=True)
class CudaError:
    """A CUDA error: its number, driver and runtime API names (empty: that API has none) and its text."""

    code: int
    driver_name: str
    runtime_name: str
    message: str

    @property
    def name(self) -> str:
        """The driver API name, or the runtime's where the driver API has none."""
        return self.driver_name or self.runtime_name


class CompatStatus(StrEnum):
    """What the forward-compatibility table says about a package on a driver branch."""

    COMPATIBLE = "compatible"
    NOT_COMPATIBLE = "not-compatible"
    NOT_NEEDED = "not-needed"
    NOT_LISTED = "not-listed"


@dataclass(frozen=True, slots=True)
class CompatRow:
    """One cell of the forward-compatibility table: a ``cuda-compat`` package on the drivers of a branch."""

    package: ToolkitVersion
    branch: int
    status: CompatStatus


class CompatBoards(StrEnum):
    """Which boards of a kind forward compatibility serves."""

    YES = "yes"
    NO = "no"
    SOME = "some"


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A kind of board by the names it is sold under (a regular expression), and the brands that NVML may call it."""

    name: str
    pattern: str
    brands: tuple[str, ...]
    compat: CompatBoards


class Provider(StrEnum):
    """Who brings a library to every host of the field."""

    BASE = "base"
    DRIVER = "driver"


@dataclass(frozen=True, slots=True)
class HostLibrary:
    """A library that hosts bring. ``minimal`` is false where minimal images lack it although manylinux allows it."""

    soname: str
    provider: Provider
    minimal: bool


@dataclass(frozen=True, slots=True)
class OptionalStack:
    """Libraries (a regular expression) that mark their user as a plugin for machines which have that stack."""

    stack: str
    pattern: str


@dataclass(frozen=True, slots=True)
class RuntimeRow:
    """The newest symbol versions of GCC's runtime libraries, of one release of GCC or of one manylinux policy.

    ``glibc`` is ``None`` for a release of GCC.
    """

    glibcxx: GlibcxxVersion
    cxxabi: DottedVersion
    libgcc: DottedVersion
    glibc: GlibcVersion | None = None


@dataclass(frozen=True, slots=True)
class CudaSoname:
    """A CUDA library whose SONAME tells its CUDA major; ``needs_driver`` is false for compilers and profilers."""

    soname: str
    major: int
    needs_driver: bool
