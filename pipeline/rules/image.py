"""What decides about one entry of a container, and how it is read from the entry's facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.formats.facts import Codec, EntryKind
from pipeline.model.arch import ArchSuffix
from pipeline.model.versions import ToolkitVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import EntryFacts
    from pipeline.model.arch import TargetArch
    from pipeline.model.versions import PtxVersion

STATIC_LIMIT = 48 << 10
"""Static shared memory that every GPU has for a block."""
RESERVED, RESERVED_FROM = 1 << 10, 90
"""What cubins for SM 9.0 and later count on top, for the system."""
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
    ``instructions`` of PTX are those that not every GPU has; ``shared`` is the most static shared memory of a kernel,
    called ``largest``, where it is over what every GPU has, else 0.
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
    instructions: tuple[str, ...] = ()
    shared: int = 0
    largest: str = ""
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


def flat(images: tuple[Image, ...]) -> Iterator[Image]:
    """The images, those inside concatenated containers in place of their container."""
    for image in images:
        if image.nested:
            yield from image.nested
        else:
            yield image


def images_of(entries: tuple[EntryFacts, ...], library: frozenset[int]) -> tuple[Image, ...]:
    """What decides about a container's entries. ``library`` are the toolkit majors that show elsewhere in its file."""
    return read_images(entries, frozenset(traces(entries)) or library)


def read_images(entries: tuple[EntryFacts, ...], siblings: frozenset[int]) -> tuple[Image, ...]:
    """The same where it is known already which toolkit majors show beside a cubin that does not tell."""
    return tuple(_image(entry, siblings) for entry in entries)


def traces(entries: tuple[EntryFacts, ...]) -> Iterator[int]:
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
        shared, largest = _shared(entry)
        return Image(
            kind=entry.kind,
            arch=entry.arch,
            codec=entry.codec,
            ptx=entry.ptx,
            damage=entry.payload_error,
            instructions=entry.text.instructions if entry.text is not None else (),
            shared=shared,
            largest=largest,
            nested=nested,
        )
    shared, largest = _shared(entry)
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
        shared=shared,
        largest=largest,
    )


def _shared(entry: EntryFacts) -> tuple[int, str]:
    """The most static shared memory of a kernel and its name, without what cubins reserve; where it is remarkable."""
    content = entry.text or entry.cubin
    if content is None:
        return 0, ""
    reserves = entry.cubin is not None and entry.arch is not None and entry.arch.number >= RESERVED_FROM
    size = content.shared - (RESERVED if reserves else 0)
    return (size, content.largest) if size > STATIC_LIMIT else (0, "")


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
