from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.binary import BufferView
from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.formats.device import Container, Flaw, Hits, containers, find_all, read_run, wrapper_versions
from pipeline.formats.elf import SHT_NOBITS, read_elf
from pipeline.formats.fatbin import ContainerReader
from pipeline.formats.needle import Needle
from tests.formats.artifacts import Library, link

if TYPE_CHECKING:
    from pipeline.formats.elf import ElfImage

pytestmark = pytest.mark.network


def image_of(library: Library) -> ElfImage:
    return read_elf(BufferView(link(library)), STANDARD)


def found_in(library: Library, reader: ContainerReader) -> list[Container | Flaw]:
    return list(containers(image_of(library), reader))


@pytest.mark.parametrize("section", [".nv_fatbin", "__nv_relfatbin"])
@pytest.mark.parametrize("kind", ["shared", "executable", "object"])
def test_containers_of_both_sections(plain_fatbin: bytes, glance: ContainerReader, section: str, kind: str) -> None:
    found = found_in(Library(fatbins=(plain_fatbin, plain_fatbin), section=section, kind=kind), glance)
    assert [item.section for item in found] == [section, section]
    assert all(isinstance(item, Container) and len(item.entries) == 3 for item in found)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", ["shared", "executable", "object"])
def test_wrappers_point_at_their_containers(
    plain_fatbin: bytes, glance: ContainerReader, version: int, kind: str
) -> None:
    library = Library(fatbins=(plain_fatbin, plain_fatbin), wrapper=version, kind=kind)
    found = found_in(library, glance)
    assert wrapper_versions(image_of(library)) == {item.offset: version for item in found}


def test_containers_in_other_data_are_found(plain_fatbin: bytes, glance: ContainerReader) -> None:
    decoy = plain_fatbin[:4] + b"no container at all"
    found = found_in(Library(rodata=decoy + b"\0" * 5 + plain_fatbin + b"tail"), glance)
    assert [(item.section, isinstance(item, Container)) for item in found] == [(".rodata", True)]


def test_without_a_section_table_segments_are_searched(plain_fatbin: bytes, glance: ContainerReader) -> None:
    content = bytearray(link(Library(fatbins=(plain_fatbin,))))
    content[40:48], content[60:62] = bytes(8), bytes(2)
    found = list(containers(read_elf(BufferView(bytes(content)), STANDARD), glance))
    assert [isinstance(item, Container) for item in found] == [True]


@pytest.mark.parametrize("lie", ["one section", "no bytes", "not in the file"])
def test_what_no_section_lists_is_searched(plain_fatbin: bytes, glance: ContainerReader, lie: str) -> None:
    """The section table is for linkers: a program runs by its segments, whatever the table says."""
    content = bytearray(link(Library(fatbins=(plain_fatbin,))))
    image = read_elf(BufferView(bytes(content)), STANDARD)
    row = image.header.sections_at + 64 * [section.name for section in image.sections].index(".nv_fatbin")
    match lie:
        case "one section":
            content[60:64] = (1).to_bytes(2, "little") + bytes(2)
        case "no bytes":
            content[row + 32 : row + 40] = bytes(8)
        case _:
            content[row + 4 : row + 8] = SHT_NOBITS.to_bytes(4, "little")
    found = list(containers(read_elf(BufferView(bytes(content)), STANDARD), glance))
    assert [isinstance(item, Container) and len(item.entries) == 3 for item in found] == [True]


def run(content: bytes, reader: ContainerReader) -> list[Container | Flaw]:
    return list(read_run(BufferView(content), "", (0, len(content)), reader))


def test_padding_between_containers(plain_fatbin: bytes, glance: ContainerReader) -> None:
    found = run(plain_fatbin + bytes(8) + plain_fatbin + bytes(100_000) + plain_fatbin + bytes(4096), glance)
    assert [isinstance(item, Container) for item in found] == [True] * 3


def test_other_bytes_between_containers_are_a_flaw(plain_fatbin: bytes, glance: ContainerReader) -> None:
    found = run(plain_fatbin + b"garbage!" + plain_fatbin, glance)
    assert [isinstance(item, Container) for item in found] == [True, False, True]


@pytest.mark.parametrize("length", [17, 40, 80, 200, -8, -1])
def test_a_container_cut_short_is_a_flaw(plain_fatbin: bytes, glance: ContainerReader, length: int) -> None:
    (found,) = run(plain_fatbin[:length], glance)
    assert isinstance(found, Flaw)


def test_flaws_are_limited(plain_fatbin: bytes, glance: ContainerReader) -> None:
    reader = ContainerReader(glance.names, glance.inspect, Budgets(flaws=3))
    found = run((plain_fatbin[:4] + b"\1\0\x10\0" + bytes(8) + b"junk" * 4) * 100, reader)
    assert len([item for item in found if isinstance(item, Flaw)]) == 4


def test_searching_sees_what_spans_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.binary.PIECE", 4)
    view = BufferView(b"..abc..abcabc")
    assert list(find_all(view, (0, view.size), Needle(b"abc"))) == [2, 7, 10]


@pytest.mark.parametrize("piece", [3, 4, 5, 64])
@pytest.mark.parametrize(("length", "expected"), [(1, [2, 5, 8, 13]), (4, [2, 8, 13]), (6, [2, 8]), (9, [2, 13])])
def test_what_a_container_covers_is_not_searched(
    monkeypatch: pytest.MonkeyPatch, piece: int, length: int, expected: list[int]
) -> None:
    monkeypatch.setattr("pipeline.binary.PIECE", piece)
    view = BufferView(b"..abcabcabc..abc")
    hits, found = Hits(view, (0, view.size), Needle(b"abc")), []
    for offset in hits.offsets():
        found.append(offset)
        hits.past = offset + length
    assert found == expected
