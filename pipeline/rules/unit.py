"""Units of device code as the rules see them: equal containers of one library are judged once and counted.

A library of thousands of containers has a few dozen different ones: what decides is the kind, architecture,
codec, PTX ISA and provenance of each entry, not its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.formats.facts import Codec, EntryKind
from pipeline.model.arch import ArchSuffix
from pipeline.model.paths import MemberPath
from pipeline.model.versions import ToolkitVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import BareImage, EntryFacts, FatbinFacts, Inventory
    from pipeline.model.arch import TargetArch
    from pipeline.model.versions import PtxVersion

# The kernel-less ELF that nvcc's device link step leaves in every program is 0.6 to 1.6 KiB for each toolkit from
# 11.8 to 13.5; the smallest cubin with a kernel is 2.3 KB. Only used where the payload cannot be read.
LARGEST_LINK_STUB = 1664
# What nvcc writes as PTX for a file without device code: version, target and address size, 56 to 68 bytes from 11.8 to
# 13.5. An entry function does not fit in what is left.
LARGEST_EMPTY_PTX = 72
_CUBIN_ABI = {(1, 7): 7, (1, 8): 8}
# PTX ISA 7.x is CUDA 11.x, 8.x is 12.x, 9.x is 13.x.
_FIRST_PTX_MAJOR, _PTX_TO_CUDA = 7, 4
_ABI8_SPECIFIC = 0x8
_HEADER_OF_12 = 96


@dataclass(frozen=True, slots=True)
class Image:
    """What decides about one entry. ``majors`` are the toolkit majors that may have made it, one where known.

    ``abi`` is the cubin's ELF ABI generation (0 for other kinds). ``ptx`` is set for PTX. ``toolkit`` is the
    producing toolkit where the payload names it. ``damage`` is the payload's fault, found by looking into it.
    ``inside`` is the architecture of a cubin's ELF where it contradicts the entry's, by which the driver chooses.
    """

    kind: EntryKind | int
    arch: TargetArch | None
    codec: Codec
    ptx: PtxVersion | None = None
    abi: int = 0
    majors: tuple[int, ...] = ()
    toolkit: ToolkitVersion | None = None
    damage: str | None = None
    inside: TargetArch | None = None
    nested: tuple[Image, ...] = ()

    @property
    def loadable_kind(self) -> bool:
        """Whether a driver may load such an entry: LTO-IR and Tile IR are for other tools, new kinds are not known."""
        return self.kind not in {EntryKind.LTO_IR, EntryKind.TILE_IR}

    @property
    def unknown_kind(self) -> bool:
        """Whether no tool that was measured writes such an entry."""
        return not isinstance(self.kind, EntryKind)

    @property
    def what(self) -> str:
        """Words for a finding: ``cubin for sm_80``."""
        if self.kind is EntryKind.PTX:
            return f"PTX {self.ptx} for {self.arch}"
        if self.kind is EntryKind.CUBIN:
            return f"cubin for {self.arch}"
        name = self.kind.name.lower().replace("_", "-") if isinstance(self.kind, EntryKind) else "entry"
        return f"{name} (kind {int(self.kind)})"


@dataclass(frozen=True, slots=True)
class Unit:
    """Containers of one library that the driver cannot tell apart: one translation unit each, as a rule.

    ``library`` is the member the containers lie in; ``path`` the first container. ``bare`` marks a cubin or PTX
    file; ``count`` how many containers the unit stands for, ``paths`` all of them; ``entries`` how many entries each
    has.
    """

    library: MemberPath
    path: MemberPath
    images: tuple[Image, ...]
    bare: bool = False
    count: int = 1
    paths: tuple[MemberPath, ...] = field(default=(), compare=False, repr=False)

    @property
    def entries(self) -> int:
        """Entries in all its containers."""
        return len(self.images) * self.count

    @property
    def suffixed(self) -> bool:
        """Whether every image that can be loaded is architecture- or family-specific."""
        archs = [image.arch for image in flat(self.images) if image.arch is not None]
        return bool(archs) and all(arch.suffix is not ArchSuffix.NONE for arch in archs)


@dataclass(frozen=True, slots=True)
class Units:
    """The device code of an artifact: ``loaded`` is judged, the rest is counted and left alone.

    ``empty`` containers hold nothing, ``stubs`` no kernel (as the device linker's ELF), ``relocatable`` ones are
    input of a device link; ``foreign`` hold only kinds that the driver does not load.
    """

    loaded: tuple[Unit, ...]
    empty: int = 0
    stubs: int = 0
    relocatable: int = 0
    foreign: int = 0


def flat(images: tuple[Image, ...]) -> Iterator[Image]:
    """The images, those inside concatenated containers in place of their container."""
    for image in images:
        if image.nested:
            yield from image.nested
        else:
            yield image


@dataclass(slots=True)
class _Census:
    """Collects containers by what decides about them."""

    traces: dict[MemberPath, frozenset[int]]
    found: dict[tuple[MemberPath, tuple[Image, ...], bool], list[MemberPath]] = field(default_factory=dict)
    empty: int = 0
    stubs: int = 0
    relocatable: int = 0
    foreign: int = 0

    def add(self, fatbin: FatbinFacts, own: frozenset[int]) -> None:
        if not fatbin.entries:
            self.empty += 1
        elif fatbin.relocatable:
            self.relocatable += 1
        elif has_no_kernels(fatbin):
            self.stubs += 1
        else:
            library = library_of(fatbin)
            images = _images(fatbin.entries, own or self.traces[library])
            if not any(image.loadable_kind for image in images):
                self.foreign += 1
            else:
                self.found.setdefault((library, images, False), []).append(fatbin.path)

    def add_bare(self, image: BareImage) -> None:
        images = images_of((image.entry,), frozenset())
        if not images[0].loadable_kind:
            self.foreign += 1
            return
        self.found.setdefault((image.path, images, True), []).append(image.path)

    def units(self) -> Units:
        loaded = (
            Unit(library, paths[0], images, bare, len(paths), tuple(paths))
            for (library, images, bare), paths in self.found.items()
        )
        return Units(tuple(loaded), self.empty, self.stubs, self.relocatable, self.foreign)


def units_of(inventory: Inventory) -> Units:
    """Group the device code of an artifact."""
    each = [frozenset(_traces(fatbin.entries)) for fatbin in inventory.fatbins]
    traces: dict[MemberPath, set[int]] = {}
    for fatbin, own in zip(inventory.fatbins, each, strict=True):
        traces.setdefault(library_of(fatbin), set()).update(own)
    census = _Census({library: frozenset(majors) for library, majors in traces.items()})
    for fatbin, own in zip(inventory.fatbins, each, strict=True):
        census.add(fatbin, own)
    for image in inventory.bare:
        census.add_bare(image)
    return census.units()


def library_of(fatbin: FatbinFacts) -> MemberPath:
    """The member that a container belongs to; the whole archive for an object of a static library."""
    parts = fatbin.path.parts[: -2 if fatbin.section else -1] or fatbin.path.parts
    archive = next((place for place, part in enumerate(parts) if part.endswith(".a")), len(parts) - 1)
    return MemberPath(parts[: archive + 1])


def is_link_stub(fatbin: FatbinFacts) -> bool:
    """Whether the container is what nvcc's device link leaves behind when there is nothing to link: no kernels.

    It has one ELF for each real architecture of the list, and never PTX.
    """
    if not fatbin.entries or not fatbin.section:
        return False
    return all(entry.kind is EntryKind.CUBIN and _without_kernels(entry) for entry in fatbin.entries)


def has_no_kernels(fatbin: FatbinFacts) -> bool:
    """Whether nothing can be launched from the container: a link stub, or what nvcc writes for a file without kernels.

    Such a container is never loaded (modules are loaded when a kernel of theirs is launched), so it is neither
    coverage nor a gap, whatever architectures its list has. Where payloads were read, they decide.
    """
    if is_link_stub(fatbin):
        return True
    entries = [inner for entry in fatbin.entries for inner in entry.nested or (entry,)]
    read = all(entry.kernels is not None for entry in entries)
    if read or not fatbin.section:
        return read and not any(entry.kernels for entry in entries)
    return any(entry.kind is EntryKind.CUBIN for entry in entries) and all(map(_is_empty, entries))


def _is_empty(entry: EntryFacts) -> bool:
    if entry.kind is EntryKind.PTX:
        return _size(entry) <= LARGEST_EMPTY_PTX
    return entry.kind is EntryKind.CUBIN and _without_kernels(entry)


def _size(entry: EntryFacts) -> int:
    return entry.uncompressed_size if entry.codec is not Codec.NONE else entry.payload_size


def _without_kernels(entry: EntryFacts) -> bool:
    if entry.cubin is not None and entry.cubin.kernels is not None:
        return entry.cubin.kernels == 0
    return _size(entry) <= LARGEST_LINK_STUB


def images_of(entries: tuple[EntryFacts, ...], library: frozenset[int]) -> tuple[Image, ...]:
    """What decides about a container's entries. ``library`` are the toolkit majors that show elsewhere in its file."""
    return _images(entries, frozenset(_traces(entries)) or library)


def _images(entries: tuple[EntryFacts, ...], siblings: frozenset[int]) -> tuple[Image, ...]:
    return tuple(_image(entry, siblings) for entry in entries)


def _traces(entries: tuple[EntryFacts, ...]) -> Iterator[int]:
    """Toolkit majors that the entries show without doubt: by PTX ISA, by a cubin's own note, by ABI 8 below sm_100."""
    for entry in entries:
        if entry.ptx is not None and entry.ptx.major >= _FIRST_PTX_MAJOR:
            yield entry.ptx.major + _PTX_TO_CUDA
        elif entry.cubin is not None and entry.cubin.toolkit:
            yield entry.cubin.toolkit // 10
        elif entry.kind is EntryKind.CUBIN and entry.arch is not None:
            possible = _possible_majors(entry)
            if len(possible) == 1:
                yield possible[0]


def _image(entry: EntryFacts, siblings: frozenset[int]) -> Image:
    if entry.kind is not EntryKind.CUBIN:
        nested = tuple(_image(inner, siblings) for inner in entry.nested)
        return Image(entry.kind, entry.arch, entry.codec, entry.ptx, damage=entry.payload_error, nested=nested)
    noted = entry.cubin.toolkit if entry.cubin is not None else None
    return Image(
        kind=entry.kind,
        arch=entry.arch,
        codec=entry.codec,
        abi=_abi(entry),
        majors=(noted // 10,) if noted else _majors(entry, siblings),
        toolkit=ToolkitVersion(f"{noted // 10}.{noted % 10}") if noted else None,
        damage=entry.payload_error,
        inside=_contradiction(entry),
    )


def _contradiction(entry: EntryFacts) -> TargetArch | None:
    """Suffixes are left aside: libcublas 12.8 has cubins marked ``a`` in entries that are not."""
    found = entry.cubin.arch if entry.cubin is not None else None
    agrees = found is None or entry.arch is None or found.number == entry.arch.number
    return None if agrees else found


def _abi(entry: EntryFacts) -> int:
    """The ELF ABI generation, from the payload or the entry's code version; -1 for one newer than the tables."""
    if entry.cubin is None:
        return _CUBIN_ABI.get(entry.code_version, -1)
    return entry.cubin.abi if entry.cubin.arch is not None else -1


def _majors(entry: EntryFacts, siblings: frozenset[int]) -> tuple[int, ...]:
    """Toolkit majors that may have written a cubin; what lies beside it came out of the same build and narrows them."""
    possible = _possible_majors(entry)
    narrowed = tuple(major for major in possible if major in siblings)
    return narrowed or possible


def _possible_majors(entry: EntryFacts) -> tuple[int, ...]:
    """By ABI: 8 is written by 12.8 and 12.9 for sm_100 and up, by 13.x for all (every ptxas from 11.2 to 13.5).

    From sm_100 on, 12.x marks ``a`` targets in the ELF flags, 13.x in an attribute of every cubin; the entry header
    holds a copy of the attributes and is 88 or 96 bytes long in 12.x, 104 and more in 13.x.
    """
    abi = _abi(entry)
    if abi == 7:
        return (11, 12)
    if abi != 8 or entry.arch is None:
        return ()
    if entry.arch.number < 100:
        return (13,)
    if entry.cubin is not None and entry.arch.suffix is ArchSuffix.SPECIFIC:
        return (12,) if entry.cubin.e_flags & _ABI8_SPECIFIC else (13,)
    if entry.identifier:  # it lies in the header too, with padding that is not known
        return (12, 13)
    return (12,) if 0 < entry.header_size <= _HEADER_OF_12 else (13,)
