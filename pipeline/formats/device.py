"""Device code in files: containers in the sections of a host ELF file, and in bare fatbin files."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.binary import PIECE, FormatError
from pipeline.formats import fatbin
from pipeline.formats.elf import PT_LOAD, SHF_ALLOC, SHF_EXECINSTR, TYPE_OBJECT, ElfImage, Section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.binary import View
    from pipeline.formats.facts import EntryFacts
    from pipeline.formats.fatbin import ContainerHeader, ContainerReader
    from pipeline.formats.needle import Needle

LOADED, LINKED = ".nv_fatbin", "__nv_relfatbin"
WRAPPERS = ".nvFatBinSegment"
_WRAPPER_MAGIC, _WRAPPER_SIZE = 0x466243B1, 24
_SHT_PROGBITS, _SHT_RELA, _SHT_NOTE, _RELA_SIZE = 1, 4, 7, 24
_ENDLESS = 1 << 62
_FIRST_STEP = 16  # as a rule the next container follows at once
_NEVER_DATA = (".eh_frame", ".gcc_except_table", ".comment", ".debug", ".interp", ".got", ".plt")
_CODE = (".text", ".init", ".fini", ".plt")
"""Executable sections of compilers, megabytes of instructions as a rule; one of another name may hold anything."""


@dataclass(frozen=True, slots=True)
class Container:
    """A container that was read whole; ``offset`` is from the start of the file."""

    section: str
    offset: int
    header: ContainerHeader
    entries: tuple[EntryFacts, ...]


@dataclass(frozen=True, slots=True)
class Flaw:
    """A place where a container should be and none can be read."""

    section: str
    offset: int
    what: str


def read_run(view: View, section: str, span: tuple[int, int], reader: ContainerReader) -> Iterator[Container | Flaw]:
    """Read the containers that fill ``span`` (start, end) back to back; only zeros may lie between them."""
    at, end = span
    containers = flaws = 0
    while (begin := _skip_zeros(view, at, end)) < end:
        if containers >= reader.budgets.containers or flaws >= reader.budgets.flaws:
            yield Flaw(section, begin, f"no more is read after {containers} containers and {flaws} flaws")
            return
        found = _read_at(view, section, (begin, end), reader)
        yield found
        if isinstance(found, Container):
            containers += 1
            at = begin + found.header.size
        else:
            flaws += 1
            at = _find_magic(view, begin + 4, end)


def _read_at(view: View, section: str, span: tuple[int, int], reader: ContainerReader) -> Container | Flaw:
    start, end = span
    try:
        header = fatbin.parse_container(view.read(start, min(fatbin.CONTAINER_HEADER, end - start)))
        _must_fit(header, end - start)
        return Container(section, start, header, tuple(reader.entries(view, start, header)))
    except FormatError as error:
        return Flaw(section, start, error.message)


def _must_fit(header: ContainerHeader, room: int) -> None:
    if header.size > room:
        raise FormatError(f"a container of {header.size} bytes in the {room} that are left")


def _skip_zeros(view: View, at: int, end: int) -> int:
    """The offset of the first byte from ``at`` on that is not zero, or ``end``."""
    step = _FIRST_STEP
    while at < end:
        piece = view.read(at, min(step, end - at))
        rest = piece.lstrip(b"\0")
        if rest:
            return at + len(piece) - len(rest)
        at += len(piece)
        step = min(2 * step, PIECE)
    return end


def _find_magic(view: View, at: int, end: int) -> int:
    return next(find_all(view, (at, end), fatbin.NEEDLE), end)


def find_all(view: View, span: tuple[int, int], needle: Needle) -> Iterator[int]:
    """Offsets of the pattern in what the view has of ``span``; overlaps between megabyte pieces are seen."""
    return Hits(view, span, needle).offsets()


@dataclass(slots=True)
class Hits:
    """A pattern in what the view has of ``span``; who has read what follows one may move ``past`` behind that."""

    view: View
    span: tuple[int, int]
    needle: Needle
    past: int = 0

    def offsets(self) -> Iterator[int]:
        """Where the pattern stands, from ``past`` on; overlaps between megabyte pieces are seen."""
        edge = len(self.needle.pattern) - 1
        tail, tail_end = b"", -1
        for at, piece in self.view.pieces(self.span[0], max(self.span[1] - self.span[0], 0)):
            before = tail if tail_end == at else b""
            for hit in self.needle.all(before + piece[:edge]):
                if hit < len(before) and at - len(before) + hit >= self.past:
                    yield at - len(before) + hit
            found = self.needle.find(piece, max(self.past - at, 0))
            while found >= 0:
                yield at + found
                found = self.needle.find(piece, max(self.past - at, found + 1))
            tail, tail_end = (before + piece[-edge:])[-edge:], at + len(piece)


def containers(image: ElfImage, reader: ContainerReader) -> Iterator[Container | Flaw]:
    """All containers of a host ELF file: of nvcc's two sections, then those embedded in other data."""
    unread = replace(reader, inspect=reader.inspect.of_linker_input())
    view = image.view.stepping()
    for section in image.sections:
        span = (section.offset, section.offset + section.size)
        if section.name in {LOADED, LINKED} and section.in_file:
            yield from read_run(view, section.name, span, reader if section.name == LOADED else unread)
    if not _surely_none(image.view):
        for name, span in _data_spans(image):
            yield from _embedded(view, name, span, reader)


def _surely_none(view: View) -> bool:
    """Whether one look at a small file, as most are, shows that no container is anywhere in it."""
    return view.size <= PIECE and next(find_all(view, (0, view.size), fatbin.NEEDLE), None) is None


def _data_spans(image: ElfImage) -> Iterator[tuple[str, tuple[int, int]]]:
    for section in image.sections:
        if _is_data(section):
            yield section.name, (section.offset, section.offset + section.size)
    for index, span in enumerate(_unlisted(image)):
        yield f"segment {index}" if not image.sections else f"outside sections {index}", span


def _unlisted(image: ElfImage) -> Iterator[tuple[int, int]]:
    """What a program has in memory and no section lists: all of it without a section table, else scraps as a rule."""
    listed = sorted((row.offset, row.offset + row.size) for row in image.sections if row.in_file)
    loaded = sorted((row.offset, row.offset + row.size) for row in image.segments if row.kind == PT_LOAD)
    at, place = 0, 0
    for low, high in loaded:
        at, end = max(at, low), min(high, image.view.size)
        while at < end and place < len(listed) and listed[place][0] < end:
            if listed[place][0] > at:
                yield at, listed[place][0]
            at = max(at, listed[place][1])
            place += 1
        if at < end:
            yield at, end
            at = end


def _is_data(section: Section) -> bool:
    return (
        section.kind in {_SHT_PROGBITS, _SHT_NOTE}
        and section.flags & SHF_ALLOC != 0
        and not (section.flags & SHF_EXECINSTR and section.name.startswith(_CODE))
        and section.name not in {LOADED, LINKED, WRAPPERS}
        and not section.name.startswith(_NEVER_DATA)
    )


def _embedded(view: View, section: str, span: tuple[int, int], reader: ContainerReader) -> Iterator[Container | Flaw]:
    """Containers in the midst of other data; bytes that merely look like the magic are no flaw."""
    failed = 0
    hits = Hits(view, span, fatbin.NEEDLE)
    for start in hits.offsets():
        reader.names.count(1)
        found = _read_at(view, section, (start, span[1]), reader)
        if isinstance(found, Container):
            if found.entries:
                hits.past = start + found.header.size
                yield found
        elif not fatbin.plausible(view, start, _ENDLESS):
            continue  # one that its section cuts off is a flaw, bytes that are no container at all are none
        elif not fatbin.plausible(view, start, span[1]):
            yield found
        elif (failed := failed + 1) >= reader.budgets.flaws:
            yield Flaw(section, start, f"no more is read after {failed} broken containers")
            return


def wrapper_versions(image: ElfImage) -> dict[int, int]:
    """Version of the ``.nvFatBinSegment`` record that points at each container, by the container's file offset."""
    section = image.section(WRAPPERS)
    if section is None or not section.in_file:
        return {}
    view, versions = image.view, {}
    targets = _targets_in_object(image, section) if image.header.elf_type == TYPE_OBJECT else None
    for at in range(0, section.size - _WRAPPER_SIZE + 1, _WRAPPER_SIZE):
        record = view.read(section.offset + at, _WRAPPER_SIZE)
        if int.from_bytes(record[:4], "little") != _WRAPPER_MAGIC:
            continue
        version = int.from_bytes(record[4:8], "little")
        pointer = int.from_bytes(record[8:16], "little")
        if targets is not None:
            versions[targets.get(at + 8, -1)] = version
        else:
            versions[_file_offset(image, pointer or _relocated(image, section.address + at + 8))] = version
    return versions


def _file_offset(image: ElfImage, address: int) -> int:
    try:
        return image.offset_of(address)
    except FormatError:
        return -1


def _relocated(image: ElfImage, address: int) -> int:
    """The addend of the relocation at ``address``; linkers sort those that need no symbol, so it is looked up."""
    for section in image.sections:
        if section.kind == _SHT_RELA and section.flags & SHF_ALLOC:
            table = memoryview(image.view.read(section.offset, section.size // _RELA_SIZE * _RELA_SIZE)).cast("Q")
            places = table[0::3]
            index = bisect_left(places, address)
            if index < len(places) and places[index] == address:
                return int(table[3 * index + 2])
    return 0


def _targets_in_object(image: ElfImage, wrappers: Section) -> dict[int, int]:
    """Offsets in the wrapper section → file offset of what they point at, for a relocatable object."""
    targets: dict[int, int] = {}
    for section in image.sections:
        if section.kind != _SHT_RELA or section.info >= len(image.sections):
            continue
        if image.sections[section.info] is wrappers and section.link < len(image.sections):
            table = memoryview(image.view.read(section.offset, section.size // _RELA_SIZE * _RELA_SIZE)).cast("Q")
            for place, kind, addend in zip(table[0::3], table[1::3], table[2::3], strict=True):
                targets[place] = _symbol_offset(image, image.sections[section.link], kind >> 32) + addend
    return targets


def _symbol_offset(image: ElfImage, symbols: Section, index: int) -> int:
    at = symbols.offset + 24 * index
    home = image.view.u16(at + 6)
    return image.sections[home].offset + image.view.u64(at + 8) if home < len(image.sections) else -1
