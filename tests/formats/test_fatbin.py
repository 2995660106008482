from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from pipeline.binary import BufferView, FormatError
from pipeline.formats import fatbin
from pipeline.formats.device import Container, Flaw, read_run
from pipeline.formats.facts import Codec, EntryFacts, EntryKind
from tests.toolchain import Image, ToolFailed, cubin_image, fatbinary, kernel_ptx, nvfatbin, ptx_image, ptxas

if TYPE_CHECKING:
    from pipeline.formats.fatbin import ContainerReader

pytestmark = pytest.mark.network


def entries_of(content: bytes, reader: ContainerReader) -> tuple[EntryFacts, ...]:
    (found,) = read_run(BufferView(content), "", (0, len(content)), reader)
    assert isinstance(found, Container), found
    return found.entries


@pytest.mark.parametrize(
    ("toolkit", "mode", "everything", "codecs"),
    [
        ("12.4", None, False, (Codec.NONE, Codec.LZ4)),
        ("12.4", None, True, (Codec.LZ4, Codec.LZ4)),
        ("12.8", None, False, (Codec.NONE, Codec.LZ4)),
        ("12.8", "none", False, (Codec.NONE, Codec.NONE)),
        ("12.8", "speed", False, (Codec.NONE, Codec.LZ4)),
        ("12.8", "balance", False, (Codec.NONE, Codec.ZSTD)),
        ("12.8", "size", False, (Codec.ZSTD, Codec.ZSTD)),
        ("12.8", "speed", True, (Codec.LZ4, Codec.LZ4)),
        ("13.0", None, False, (Codec.NONE, Codec.ZSTD)),
        ("13.0", "speed", False, (Codec.NONE, Codec.LZ4)),
        ("13.0", "size", False, (Codec.ZSTD, Codec.ZSTD)),
    ],
)
def test_codec_of_each_compression_mode(
    toolkit: str, mode: str | None, everything: bool, codecs: tuple[Codec, Codec], examination: ContainerReader
) -> None:
    images = [cubin_image(toolkit, "scale", "80"), ptx_image(toolkit, "scale", "90")]
    cubin, ptx = entries_of(nvfatbin(toolkit, images, mode=mode, everything=everything), examination)
    assert (cubin.kind, str(cubin.arch), cubin.codec) == (EntryKind.CUBIN, "sm_80", codecs[0])
    assert (ptx.kind, str(ptx.arch), ptx.codec) == (EntryKind.PTX, "compute_90", codecs[1])
    assert (cubin.payload_error, ptx.payload_error) == (None, None)
    assert cubin.cubin is not None
    assert cubin.cubin.kernels == 1


@pytest.mark.parametrize(
    ("toolkit", "arch"), [("12.8", "90a"), ("12.8", "100a"), ("12.8", "120"), ("13.0", "100f"), ("13.0", "121a")]
)
def test_suffix_and_isa_come_from_the_entry(toolkit: str, arch: str, glance: ContainerReader) -> None:
    images = [cubin_image(toolkit, "scale", arch), ptx_image(toolkit, "scale", arch)]
    cubin, ptx = entries_of(nvfatbin(toolkit, images), glance)
    assert str(cubin.arch) == f"sm_{arch}"
    assert str(ptx.arch) == f"compute_{arch}"
    assert str(ptx.ptx) == {"12.8": "8.7", "13.0": "9.0"}[toolkit]
    assert cubin.cubin is not None
    assert cubin.code_version == (1, cubin.cubin.abi)


def test_concatenated_container_lists_its_real_images(examination: ContainerReader) -> None:
    images = [cubin_image("13.5", "scale", arch) for arch in ("80", "90", "100a", "120")]
    images += [ptx_image("13.5", "scale", arch) for arch in ("90", "100a")]
    entries = entries_of(fatbinary("13.5", images, concat=True), examination)
    assert {entry.kind for entry in entries} == {EntryKind.CONCATENATED}
    assert [entry.arch for entry in entries] == [None] * len(entries)
    nested = sorted(str(image.arch) for entry in entries for image in entry.nested)
    assert nested == ["compute_100a", "compute_90", "sm_100a", "sm_120", "sm_80", "sm_90"]
    assert [entry.payload_error for entry in entries] == [None] * len(entries)


def test_each_entry_that_does_not_fit_its_container_is_a_flaw(plain_fatbin: bytes, glance: ContainerReader) -> None:
    payload_size_at = 16 + 8
    damaged = bytearray(plain_fatbin)
    struct.pack_into("<Q", damaged, payload_size_at, 1 << 63)
    found = list(read_run(BufferView(bytes(damaged)), "", (0, len(damaged)), glance))
    assert isinstance(found[0], Flaw)
    assert "that are left" in found[0].what


def test_a_container_of_another_version_is_not_guessed_at(plain_fatbin: bytes, glance: ContainerReader) -> None:
    content = plain_fatbin[:4] + b"\2\0" + plain_fatbin[6:]
    found = list(read_run(BufferView(content), "", (0, len(content)), glance))
    assert isinstance(found[0], Flaw)
    assert "version 2" in found[0].what


def test_unknown_kinds_are_kept_by_their_number(plain_fatbin: bytes, glance: ContainerReader) -> None:
    changed = bytearray(plain_fatbin)
    struct.pack_into("<H", changed, 16, 77)
    assert entries_of(bytes(changed), glance)[0].kind == 77


def test_both_codec_flags_at_once_are_unknown(plain_fatbin: bytes, glance: ContainerReader) -> None:
    changed = bytearray(plain_fatbin)
    struct.pack_into("<Q", changed, 16 + 40, 0xA011)
    assert entries_of(bytes(changed), glance)[0].codec is Codec.UNKNOWN


@pytest.mark.parametrize("flags", [0x300011])
def test_an_arch_marked_both_ways_is_damage(plain_fatbin: bytes, glance: ContainerReader, flags: int) -> None:
    changed = bytearray(plain_fatbin)
    struct.pack_into("<Q", changed, 16 + 40, flags)
    (found, *_) = read_run(BufferView(bytes(changed)), "", (0, len(changed)), glance)
    assert isinstance(found, Flaw)


def test_the_number_of_entries_is_limited() -> None:
    names = fatbin.EntryNames(limit=2)
    names.count(2)
    with pytest.raises(FormatError, match="more than 2"):
        names.count(1)


def test_relocatable_cubins_say_so(glance: ContainerReader) -> None:
    image = ptxas("13.0", "sm_90", kernel_ptx("scale", "9.0", "sm_90"), relocatable=True)
    (entry,) = entries_of(nvfatbin("13.0", [Image("cubin", "90", image)], mode="none"), glance)
    assert entry.cubin is not None
    assert entry.cubin.relocatable


def test_a_toolkit_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ToolFailed):
        ptxas("12.8", "sm_50", kernel_ptx("scale", "9.9", "sm_50"))
