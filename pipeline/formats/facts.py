"""What formats report: the facts that rules judge. Frozen, no opinions, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.model.image import Codec, EntryKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model.arch import TargetArch
    from pipeline.model.paths import MemberPath
    from pipeline.model.versions import PtxVersion

__all__ = [
    "BareImage",
    "Codec",
    "CubinFacts",
    "Damage",
    "ElfFacts",
    "EntryFacts",
    "EntryKind",
    "FatbinFacts",
    "ImageFacts",
    "Inventory",
    "KernelFacts",
    "LoaderConf",
    "MetadataFile",
    "Opaque",
    "PtxContent",
    "SymbolNeed",
]

LOCK = "lock"
"""The format of a lock file, whose members are the wheels that it names."""
OTHER_IMAGE = "image for "
"""How an image for another platform is named among what was not looked into."""


@dataclass(frozen=True, slots=True)
class CubinFacts:
    """Facts of a cubin's ELF header and notes, where the payload can be read.

    ``abi`` is 7 (OS ABI 0x33) or 8 (0x41); ``toolkit`` is the producing toolkit as major*10+minor where
    noted; ``kernels`` counts entry functions, 0 for the link-time stub that nvcc puts into programs. ``shared`` are
    the bytes of the largest ``.nv.shared`` section (with what is reserved), ``largest`` the kernel that it belongs to.
    """

    arch: TargetArch | None
    os_abi: int
    abi: int
    e_flags: int
    toolkit: int | None
    kernels: int | None
    relocatable: bool
    shared: int = 0
    largest: str = ""


@dataclass(frozen=True, slots=True)
class PtxContent:
    """What a PTX text holds besides its first directives, where it was read.

    ``kernels`` counts entry functions; ``shared`` are the most bytes of static shared memory that one of them declares,
    ``largest`` its name; ``instructions`` are the different ones that not every GPU has as a matter of course, with
    their modifiers (``redux.sync.add.s32``), sorted.
    """

    kernels: int
    shared: int
    largest: str
    instructions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """An entry function by its symbol's name, as mangled.

    ``registers`` per thread and ``static_shared`` bytes per block (with the 1 KiB that cubins for SM 9.0 and later
    reserve) are those of machine code; PTX has no registers yet, and its shared memory is what the text declares.
    ``threads`` is the largest block that the kernel was compiled for (``__launch_bounds__``), ``None`` where the source
    does not say; ``exact`` where it must be launched with just that block.
    """

    name: str
    registers: int | None = None
    static_shared: int | None = None
    threads: int | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """One fatbin entry, from its header, which is never compressed.

    ``kind`` is an ``EntryKind`` or the raw number; ``arch`` is ``None`` for kinds without one (256), real for
    cubins and virtual for all else. ``ptx`` is the ISA version of PTX, ``code_version`` the (major, minor)
    field as it stands (1.7/1.8 for cubins). ``offset`` is the header's, from the start of the member.
    ``nested`` are the members of a concatenated container; their ``offset`` and ``payload_size`` are the
    image's inside the decompressed payload. ``cubin`` is set where the payload was looked into;
    ``payload_error`` says what was wrong with it under a deep run. ``text`` is set for PTX that was read. ``kernels``
    are the entry functions, sorted by name, where the run asked for them; ``None`` where the payload was not read so.
    """

    index: int
    kind: EntryKind | int
    arch: TargetArch | None
    codec: Codec
    flags: int
    code_version: tuple[int, int]
    ptx: PtxVersion | None
    offset: int
    header_size: int
    payload_size: int
    compressed_size: int
    uncompressed_size: int
    identifier: str
    nested: tuple[EntryFacts, ...] = ()
    cubin: CubinFacts | None = None
    payload_error: str | None = None
    text: PtxContent | None = None
    kernels: tuple[KernelFacts, ...] | None = None


@dataclass(frozen=True, slots=True)
class FatbinFacts:
    """One container of device code, usually one translation unit.

    ``section`` is where it was found (``.nv_fatbin``, ``__nv_relfatbin``, empty for a bare file);
    ``relocatable`` marks ``-rdc`` code that is linked, not loaded: by its section, or by its cubins where no runtime
    registers the container. ``registered`` are the library's kernels that its host code can launch by name, ``None``
    where that is not known.
    """

    path: MemberPath
    section: str
    index: int
    offset: int
    size: int
    version: int
    entries: tuple[EntryFacts, ...]
    relocatable: bool
    wrapper: int | None = None
    registered: frozenset[str] | None = None

    @property
    def embedded(self) -> bool:
        """Whether the container lies in ordinary data: the library itself picks it and hands it to the driver.

        NVIDIA's curand (``.data``) and cublasLt (``.cask_resource``) do so, one architecture in each container.
        """
        return self.section not in {"", ".nv_fatbin", "__nv_relfatbin"}


@dataclass(frozen=True, slots=True)
class SymbolNeed:
    """An imported symbol with the version and library it is bound to, where the file says so."""

    name: str
    version: str | None
    library: str | None
    weak: bool


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """What the dynamic linker reads in a host ELF file.

    ``machine`` is ``x86_64``, ``aarch64`` or ``machine N``; ``elf_type`` is ``executable``, ``shared`` (a PIE
    too) or ``object``. ``version_needs`` maps a library to the symbol versions required of it (``libc.so.6``
    → ``GLIBC_2.34`` …). ``driver_exports`` are the driver entry points (``cuInit`` …) that the file itself
    defines, as libcuda and its stubs do. ``dlopen_names`` are library names, ``dlsym_names`` driver entry
    points found as plain strings (best effort, never decisive alone). ``version_definitions`` are the symbol
    versions that it offers others; ``isa_level`` is the x86-64 level that its property note asks for (1 to 4, 0:
    none stated); ``code_size`` the bytes of its executable segments; ``no_default_folders`` keeps the dynamic
    linker out of the system's folders (DF_1_NODEFLIB).
    """

    path: MemberPath
    machine: str
    elf_type: str
    interpreter: str | None
    soname: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    version_needs: dict[str, tuple[str, ...]]
    imports: tuple[SymbolNeed, ...]
    exports_count: int
    has_device_code: bool
    dlopen_names: tuple[str, ...] = ()
    dlsym_names: tuple[str, ...] = ()
    driver_exports: tuple[str, ...] = ()
    version_definitions: tuple[str, ...] = ()
    isa_level: int = 0
    code_size: int = 0
    no_default_folders: bool = False


@dataclass(frozen=True, slots=True)
class BareImage:
    """A cubin or PTX file that stands alone, not inside a fatbin."""

    path: MemberPath
    entry: EntryFacts


@dataclass(frozen=True, slots=True)
class Opaque:
    """A member that is neither ELF nor device code, or that is named and not judged (``unknown``)."""

    path: MemberPath
    what: str
    size: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A member that is corrupt or hostile: it fails its artifact."""

    path: MemberPath
    what: str


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What a container image's configuration promises a runtime: environment, labels and its layers.

    ``path`` is that of the image. Members of its root file system have the path ``path``, then the name of the layer
    they come from (one of ``layers``), then their path in the file system: ``image.tar!/LAYER!/usr/lib/libx.so``.
    """

    path: MemberPath
    environment: dict[str, str]
    labels: dict[str, str]
    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoaderConf:
    """A file of ``ld.so.conf``: the folders it adds to the dynamic linker's, and the patterns it includes, in order."""

    path: MemberPath
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """A file by which a Python distribution says who it is (``torch-2.8.0.dist-info/RECORD``), as text."""

    path: MemberPath
    text: str


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything found in one artifact.

    ``members`` counts regular files, those in inner archives included. ``files`` maps each printed member
    path to its size in bytes, ``links`` each printed link path to its target as written. ``format`` is
    ``elf``, ``fatbin``, ``cubin``, ``ptx``, ``ar``, ``deb``, ``tar``, ``tar.gz``, ``zip``, ``whl``,
    ``directory`` … or ``data`` for what has no name here. ``kernels`` says whether kernels were asked for.
    """

    root: str
    format: str
    sha256: str
    size: int
    members: int
    elves: tuple[ElfFacts, ...]
    fatbins: tuple[FatbinFacts, ...]
    bare: tuple[BareImage, ...]
    opaque: tuple[Opaque, ...]
    damage: tuple[Damage, ...]
    links: dict[str, str]
    deep: bool
    files: dict[str, int]
    kernels: bool = False
    images: tuple[ImageFacts, ...] = ()
    loader_confs: tuple[LoaderConf, ...] = ()
    metadata: tuple[MetadataFile, ...] = ()

    @property
    def entries(self) -> Iterator[EntryFacts]:
        """Every image of device code, those inside concatenated containers too."""
        for fatbin in self.fatbins:
            for entry in fatbin.entries:
                yield from entry.nested or (entry,)
        for image in self.bare:
            yield image.entry
