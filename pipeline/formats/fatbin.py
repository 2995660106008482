"""Fatbin containers: a 16-byte header, then entries whose headers are never compressed.

Layout measured on the output of nvcc, fatbinary and libnvfatbin, 11.2 to 13.5; header sizes vary with the data
(64 to 312 seen), so only the size field is trusted to find the payload.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.binary import FormatError
from pipeline.formats.facts import Codec, EntryFacts, EntryKind
from pipeline.formats.inspection import NOTHING
from pipeline.formats.needle import Needle
from pipeline.model.arch import ArchKind, ArchSuffix, TargetArch
from pipeline.model.versions import PtxVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.binary import View
    from pipeline.formats.budgets import Budgets
    from pipeline.formats.inspection import Inspector

MAGIC = b"\x50\xed\x55\xba"
CONTAINER_VERSION = 1
NEEDLE = Needle(MAGIC, rarest=1)
ENTRY_VERSION = 0x0101
FLAG_LZ4, FLAG_ZSTD, FLAG_OLD_CODEC = 0x2000, 0x8000, 0x1000
FLAG_SCRAMBLED = 0x10000
FLAG_SPECIFIC, FLAG_FAMILY = 0x100000, 0x200000
_CODEC_FLAGS = FLAG_LZ4 | FLAG_ZSTD | FLAG_OLD_CODEC
_SUFFIX_FLAGS = FLAG_SPECIFIC | FLAG_FAMILY
_KINDS: dict[int, EntryKind] = {kind.value: kind for kind in EntryKind}

_CONTAINER = struct.Struct("<4sHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
CONTAINER_HEADER, ENTRY_HEADER = _CONTAINER.size, _ENTRY.size
LARGEST_ENTRY_HEADER = 16 << 20  # a concatenated container lists its images in the header


@dataclass(frozen=True, slots=True)
class ContainerHeader:
    """The first 16 bytes: ``size`` is the whole container, header included."""

    version: int
    header_size: int
    size: int


@dataclass(frozen=True, slots=True)
class Traits:
    """What an entry's header says apart from sizes and places."""

    kind: EntryKind | int
    arch: TargetArch | None
    codec: Codec
    code_version: tuple[int, int]
    ptx: PtxVersion | None


@dataclass(slots=True)
class EntryNames:
    """Traits met so far in an artifact, so that thousands of equal ones are read once.

    It also counts what was read, against the limit on an artifact's entries.
    """

    limit: int
    known: dict[tuple[int, int, int, int, int], Traits] = field(default_factory=dict)
    counted: int = 0

    def count(self, entries: int) -> None:
        """Note that so many entries were read; ``FormatError`` past the limit."""
        self.counted += entries
        if self.counted > self.limit:
            raise FormatError(f"more than {self.limit} device-code entries in one artifact")

    def traits(self, number: int, sm: int, flags: int, major: int, minor: int) -> Traits:
        """What these fields of a header mean; ``FormatError`` if they name no architecture where one must be."""
        key = (number, sm, flags & (_CODEC_FLAGS | _SUFFIX_FLAGS), major, minor)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = _traits(*key)
        return known


def _traits(number: int, sm: int, flags: int, major: int, minor: int) -> Traits:
    kind = _KINDS.get(number, number)
    # Only PTX and cubins must name an SM; a concatenated container has 0 there.
    nameless = sm == 0 and kind not in {EntryKind.PTX, EntryKind.CUBIN}
    return Traits(
        kind=kind,
        arch=None if nameless else _arch(sm, flags & _SUFFIX_FLAGS, real=kind == EntryKind.CUBIN),
        codec=codec_of(flags),
        code_version=(major, minor),
        ptx=PtxVersion(f"{major}.{minor}") if kind == EntryKind.PTX else None,
    )


def _arch(number: int, suffix_flags: int, *, real: bool) -> TargetArch:
    if not 10 <= number <= 999:
        raise _no_architecture(number)
    if suffix_flags == _SUFFIX_FLAGS:
        raise FormatError(f"SM {number} is marked architecture-specific and family-specific at once")
    suffix = {FLAG_SPECIFIC: ArchSuffix.SPECIFIC, FLAG_FAMILY: ArchSuffix.FAMILY}.get(suffix_flags, ArchSuffix.NONE)
    return TargetArch(number, suffix, ArchKind.REAL if real else ArchKind.VIRTUAL)


def _no_architecture(number: int) -> FormatError:
    return FormatError(f"SM number {number} names no architecture")


def parse_container(head: bytes) -> ContainerHeader:
    """Read a container's header; ``FormatError`` when it is none."""
    if len(head) < CONTAINER_HEADER:
        raise FormatError("a fatbin header is cut short")
    magic, version, header_size, size = _CONTAINER.unpack_from(head)
    if magic != MAGIC:
        raise FormatError("no fatbin magic")
    if version != CONTAINER_VERSION:
        raise FormatError(f"fatbin version {version}, of which nothing is known")
    if header_size < CONTAINER_HEADER:
        raise FormatError(f"fatbin header of {header_size} bytes")
    return ContainerHeader(version, header_size, header_size + size)


def codec_of(flags: int) -> Codec:
    """How the payload is packed; flags that contradict each other are ``UNKNOWN``."""
    packing = {0: Codec.NONE, FLAG_LZ4: Codec.LZ4, FLAG_ZSTD: Codec.ZSTD}
    return packing.get(flags & _CODEC_FLAGS, Codec.UNKNOWN)


@dataclass(frozen=True, slots=True)
class ContainerReader:
    """How entries are read: names shared over an artifact, how far payloads are looked into, and the limits.

    ``host_strings`` asks a reader of streams to keep more of the read-only data around the containers.
    """

    names: EntryNames
    inspect: Inspector
    budgets: Budgets
    host_strings: bool = False

    def entries(self, view: View, start: int, container: ContainerHeader) -> Iterator[EntryFacts]:
        """Read the entries of the container at ``start``; ``FormatError`` at the first that contradicts itself."""
        view.check(start, container.size)
        at, end, index = start + container.header_size, start + container.size, 0
        while at < end:
            if index >= self.budgets.entries:
                raise FormatError(f"more than {self.budgets.entries} entries in one container")
            entry = read_entry(view, at, end, index, self.names)
            seen = self.inspect(view, entry)
            yield entry if seen is NOTHING else seen.on(entry)
            at += entry.header_size + entry.payload_size
            index += 1


def _no_room(room: int) -> FormatError:
    return FormatError(f"{room} bytes left for an entry header of {ENTRY_HEADER}")


def entry_extent(head: bytes, room: int) -> tuple[int, int]:
    """Sizes of an entry's header and payload; ``FormatError`` unless both fit into the ``room`` that is left."""
    if room < ENTRY_HEADER or len(head) < ENTRY_HEADER:
        raise _no_room(room)
    return _extent(_ENTRY.unpack_from(head), room)


def _extent(fields: tuple[int, ...], room: int) -> tuple[int, int]:
    version, header_size, payload = fields[1:4]
    if version != ENTRY_VERSION:
        raise FormatError(f"entry header version {version:#x}")
    if not ENTRY_HEADER <= header_size <= LARGEST_ENTRY_HEADER:
        raise FormatError(f"entry header of {header_size} bytes")
    if header_size + payload > room:
        raise FormatError(f"an entry of {header_size + payload} bytes in {room} that are left")
    return header_size, payload


def read_entry(view: View, at: int, end: int, index: int, names: EntryNames) -> EntryFacts:
    """Read the entry whose header is at ``at``; it must end before ``end``."""
    if end - at < ENTRY_HEADER:
        raise _no_room(end - at)
    fields = _ENTRY.unpack(view.read(at, ENTRY_HEADER))
    _extent(fields, end - at)
    names.count(1)
    return _facts(view, at, index, fields, names)


def plausible(view: View, start: int, end: int) -> bool:
    """Whether a container with at least one entry begins at ``start``, and not just its four magic bytes."""
    try:
        header = parse_container(view.read(start, CONTAINER_HEADER))
        if header.size > end - start:
            return False
        entry_extent(view.read(start + header.header_size, ENTRY_HEADER), header.size - header.header_size)
    except FormatError:
        return False
    return True


def _facts(view: View, at: int, index: int, fields: tuple[int, ...], names: EntryNames) -> EntryFacts:
    number, _, header_size, payload, compressed, extra, minor, major, sm, name_at, name_size, flags, _, raw = fields
    traits = names.traits(number, sm, flags, major, minor)
    return EntryFacts(
        index=index,
        kind=traits.kind,
        arch=traits.arch,
        codec=traits.codec,
        flags=flags,
        code_version=traits.code_version,
        ptx=traits.ptx,
        offset=at,
        header_size=header_size,
        payload_size=payload,
        compressed_size=compressed,
        uncompressed_size=raw,
        identifier=_identifier(view, at, header_size, name_at, name_size) if name_size else "",
        nested=_nested(view, at, header_size, extra, names) if number == EntryKind.CONCATENATED else (),
    )


def _identifier(view: View, at: int, header_size: int, name_at: int, size: int) -> str:
    if name_at < ENTRY_HEADER or name_at + size > header_size:
        raise FormatError("an entry's name lies outside its header")
    return view.read(at + name_at, size).rstrip(b"\0").decode("utf-8", "backslashreplace")


def _nested(view: View, at: int, header_size: int, extra: int, names: EntryNames) -> tuple[EntryFacts, ...]:
    """The table of a concatenated container: count, length, then one header for each image."""
    if extra < ENTRY_HEADER or extra + 8 > header_size:
        raise FormatError("a concatenated container without its table")
    count, length = struct.unpack("<II", view.read(at + extra, 8))
    if length < 8 or extra + length > header_size or count * ENTRY_HEADER > length - 8:
        raise FormatError(f"a table of {count} images does not fit its {length} bytes")
    table = view.read(at + extra + 8, length - 8)
    names.count(count)
    return tuple(_nested_rows(table, count, names))


def _nested_rows(table: bytes, count: int, names: EntryNames) -> Iterator[EntryFacts]:
    at = 0
    for index in range(count):
        if at + ENTRY_HEADER > len(table):
            raise FormatError(f"image {index} of {count} lies outside its table")
        row = _ENTRY.unpack_from(table, at)
        yield _nested_facts(index, row, names)
        at += _row_size(table, at, row[5])
    if at != len(table):
        raise FormatError(f"a table of {len(table)} bytes whose {count} images fill {at}")


def _nested_facts(index: int, row: tuple[int, ...], names: EntryNames) -> EntryFacts:
    number, _, offset, size, packed, _, minor, major, sm, _, _, flags, _, raw = row
    traits = names.traits(number, sm, flags, major, minor)
    if traits.arch is None:
        raise _no_architecture(sm)
    return EntryFacts(
        index=index,
        kind=traits.kind,
        arch=traits.arch,
        codec=traits.codec,
        flags=flags,
        code_version=traits.code_version,
        ptx=traits.ptx,
        offset=offset,
        header_size=0,
        payload_size=size,
        compressed_size=packed,
        uncompressed_size=raw,
        identifier="",
    )


def _row_size(table: bytes, at: int, extra: int) -> int:
    """A row has an extra block like an entry's: a string, NUL-terminated and padded to 8 bytes."""
    if extra == 0:
        return ENTRY_HEADER
    if at + extra + 8 > len(table):
        raise FormatError("an image's extra block lies outside its table")
    string_at, length = struct.unpack_from("<II", table, at + extra)
    if string_at < ENTRY_HEADER:
        raise FormatError("an image's extra block overlaps its row")
    return int(string_at + length + 1 + 7) // 8 * 8
