from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from pipeline.binary import BufferView, FormatError, NotKept
from pipeline.formats.budgets import STANDARD, Budgets
from pipeline.formats.device import Container, Flaw, containers, read_run, wrapper_versions
from pipeline.formats.elf import read_elf
from pipeline.formats.fatbin import ContainerReader
from pipeline.formats.host import read_host
from pipeline.formats.sieve import sift
from pipeline.formats.stream import Stream, stream_of
from pipeline.model.paths import MemberPath
from tests.formats.artifacts import Library, link

if TYPE_CHECKING:
    from pipeline.binary import View

pytestmark = pytest.mark.network
PATH = MemberPath(("file",))


def in_steps(content: bytes, step: int) -> Stream:
    return Stream(iter([content[at : at + step] for at in range(0, len(content), step)]), len(content))


def facts(view: View, reader: ContainerReader) -> tuple[object, ...]:
    image = read_elf(view, STANDARD)
    found = tuple(containers(image, reader))
    return found, wrapper_versions(image), read_host(image, PATH, has_device_code=True, budgets=STANDARD)


@pytest.fixture(scope="module")
def library(plain_fatbin: bytes, zstd_fatbin: bytes) -> bytes:
    return link(
        Library(
            fatbins=(plain_fatbin, zstd_fatbin + bytes(72), plain_fatbin),
            rodata=plain_fatbin[:4] + b"decoy" * 20 + bytes(3) + zstd_fatbin,
            strings=("libcuda.so.1", "cuMemCreate"),
            undefined=("memcpy@GLIBC_2.14",),
        )
    )


@pytest.mark.parametrize("step", [1, 7, 1000, 1 << 20])
@pytest.mark.parametrize("deep", [False, True])
def test_one_pass_gives_what_random_access_gives(
    library: bytes, glance: ContainerReader, examination: ContainerReader, step: int, deep: bool
) -> None:
    reader = examination if deep else glance
    view, recalled = sift(in_steps(library, step), reader)
    again = ContainerReader(reader.names, recalled, reader.budgets)
    assert facts(view, again) == facts(BufferView(library), reader)


def test_payloads_are_not_kept(zstd_fatbin: bytes, glance: ContainerReader) -> None:
    content = zstd_fatbin * 3
    view, recalled = sift(stream_of(BufferView(content)), glance)
    found = list(read_run(view, "", (0, view.size), ContainerReader(glance.names, recalled, glance.budgets)))
    assert [isinstance(item, Container) for item in found] == [True] * 3
    with pytest.raises(NotKept):
        view.read(0, len(content))


def outcome(content: bytes, reader: ContainerReader) -> str:
    """What becomes of a bare fatbin stream: an error, a flaw, or nothing but containers."""
    try:
        view, recalled = sift(Stream(iter([content])), reader)
        again = ContainerReader(reader.names, recalled, reader.budgets)
        found = list(read_run(view, "", (0, view.size), again))
    except FormatError:
        return "error"
    return "flaw" if any(isinstance(item, Flaw) for item in found) else "containers"


def test_a_stream_that_ends_in_a_container_is_cut_short(plain_fatbin: bytes, glance: ContainerReader) -> None:
    assert outcome(plain_fatbin, glance) == "containers"
    for length in (*range(1, 100), 2000, len(plain_fatbin) - 1):
        assert outcome(plain_fatbin[:length], glance) != "containers"


def test_a_damaged_entry_is_the_same_flaw_as_in_memory(plain_fatbin: bytes, glance: ContainerReader) -> None:
    damaged = bytearray(plain_fatbin + plain_fatbin)
    second_entry = 16 + sum(struct.unpack_from("<IQ", plain_fatbin, 20))
    struct.pack_into("<H", damaged, second_entry + 2, 0x666)
    view, recalled = sift(stream_of(BufferView(bytes(damaged))), glance)
    reader = ContainerReader(glance.names, recalled, glance.budgets)
    kinds = [type(item) for item in read_run(view, "", (0, view.size), reader)]
    assert kinds == [Flaw, Container]


def test_what_is_kept_is_limited(library: bytes, glance: ContainerReader) -> None:
    tight = ContainerReader(glance.names, glance.inspect, Budgets(kept=300))
    with pytest.raises(FormatError, match="headers"):
        sift(stream_of(BufferView(library)), tight)


def test_a_false_container_that_hides_a_real_one_is_never_silence(zstd_fatbin: bytes, glance: ContainerReader) -> None:
    """A container in ordinary data claims the bytes of the section behind it: its headers were not kept."""
    entry = struct.pack("<HHIQ", 2, 0x101, 64, 10_000) + bytes(48)
    liar = b"\x50\xed\x55\xba\1\0\x10\0" + struct.pack("<Q", 64 + 10_000) + entry
    content = link(Library(rodata=liar, fatbins=(zstd_fatbin,) * 8))
    view, recalled = sift(stream_of(BufferView(content)), glance)
    reader = ContainerReader(glance.names, recalled, glance.budgets)
    with pytest.raises(NotKept):
        list(containers(read_elf(view, STANDARD), reader))


@pytest.mark.parametrize("step", [1000, 1 << 20, 16 << 20])
def test_section_names_far_before_the_section_table(library: bytes, glance: ContainerReader, step: int) -> None:
    """LLD writes .shstrtab before .strtab, and the latter can have any size."""
    table, names = struct.unpack_from("<Q", library, 40)[0], struct.unpack_from("<H", library, 62)[0]
    row = table + 64 * names
    offset, size = struct.unpack_from("<QQ", library, row + 24)
    moved = bytearray(library[:table] + library[offset : offset + size] + bytes(9 << 20) + library[table:])
    struct.pack_into("<Q", moved, 40, len(moved) - (len(library) - table))
    struct.pack_into("<Q", moved, len(moved) - (len(library) - table) + 64 * names + 24, table)
    view, recalled = sift(in_steps(bytes(moved), step), glance)
    again = ContainerReader(glance.names, recalled, glance.budgets)
    assert facts(view, again) == facts(BufferView(bytes(moved)), glance)
