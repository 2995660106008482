"""One instruction changed in a kernel of a server, its container repacked in place so that sizes and digests agree.

Encodings are those of SM 7.0 and later: 16 bytes an instruction, the opcode in the low 12 bits, the guard predicate in
bits 12 to 15, the destination register in bits 16 to 23 (as nvdisasm prints them; checked against it in the tests).
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pipeline.binary import BufferView
from pipeline.formats.budgets import STANDARD
from pipeline.formats.device import Flaw, read_run
from pipeline.formats.facts import Codec, EntryKind
from pipeline.formats.fatbin import (
    CONTAINER_HEADER,
    ENTRY_HEADER,
    MAGIC,
    ContainerReader,
    EntryNames,
    entry_extent,
    parse_container,
    plausible,
)
from pipeline.formats.payload import Glance, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formats.facts import EntryFacts

_SIZE = 16
_NOP = 0x7918
_NONE = 0x7FFF  # no such opcode, whatever the guards are
_CONTROL = 0x1FFFFF << 105  # when an instruction may issue, what it waits for
_EXIT, _BRA = 0x94D, 0x947
_STORES = {0x386, 0x986}  # STG
# FMUL FADD FFMA, IDP, DMUL DADD DFMA, HADD2 HFMA2 HMUL2, IMMA, HMMA, MUFU: their low nine bits, whatever the operands.
_MATH = {0x020, 0x021, 0x023, 0x026, 0x028, 0x029, 0x02B, 0x030, 0x031, 0x032, 0x037, 0x03C, 0x108}
_ALWAYS = 7  # the guard that is always true


class Change(StrEnum):
    """What becomes of the instruction."""

    LOST_STORE = "the first store to global memory becomes a NOP"
    OTHER_REGISTER = "an arithmetic instruction writes the register beside its own"
    OTHER_GUARD = "the first guarded exit or branch heeds the opposite of its guard"
    NOT_CODE = "one of the first instructions has an opcode that does not exist"


@dataclass(frozen=True, slots=True)
class Flip:
    """A change of one instruction: ``container`` is the offset in the server, ``at`` in the kernel's code, in bytes."""

    container: int
    kernel: str
    change: Change
    at: int
    before: str
    after: str


class DoesNotFit(Exception):
    """The container cannot be repacked into the room that it has, or the kernel has no such instruction."""


def flipped(
    server: bytes, container: int, kernel: str, change: Change, *, seed: int = 0, only: int | None = None
) -> tuple[bytes, Flip]:
    """The server with one instruction of ``kernel`` changed, the one at ``only`` if that is given; ``DoesNotFit``."""
    size = parse_container(server[container : container + CONTAINER_HEADER]).size
    content = server[container : container + size]
    for entry in _cubins(content):
        image = bytearray(unpack(BufferView(content), entry, STANDARD))
        code = _code_of(image, kernel)
        if code is None:
            continue
        for at in _candidates(image, code, change, seed) if only is None else [only]:
            before = bytes(image[code[0] + at : code[0] + at + _SIZE])
            after = _changed(before, change)
            image[code[0] + at : code[0] + at + _SIZE] = after
            repacked = _repacked(content, entry, bytes(image))
            if repacked is not None:
                flip = Flip(container, kernel, change, at, before.hex(), after.hex())
                return server[:container] + repacked + server[container + size :], flip
            image[code[0] + at : code[0] + at + _SIZE] = before
    raise DoesNotFit(f"{kernel}: {change}")


def repacked(server: bytes, container: int) -> bytes:
    """The server with one container repacked and nothing changed in it: the healthy twin; ``DoesNotFit``."""
    size = parse_container(server[container : container + CONTAINER_HEADER]).size
    content = server[container : container + size]
    for entry in _cubins(content):
        again = _repacked(content, entry, unpack(BufferView(content), entry, STANDARD))
        if again is not None:
            return server[:container] + again + server[container + size :]
    raise DoesNotFit(f"the container at {container:#x}")


def with_other_sm(server: bytes, sm: int) -> tuple[bytes, int]:
    """The server with the SM number of every entry of its containers rewritten, and how many entries that were."""
    out, count, at = bytearray(server), 0, server.find(MAGIC)
    while at >= 0:
        end = at + 1
        if plausible(BufferView(server), at, len(server)):
            header = parse_container(server[at : at + CONTAINER_HEADER])
            entry, end = at + header.header_size, at + header.size
            while entry < end:
                struct.pack_into("<I", out, entry + 28, sm)
                head, payload = entry_extent(server[entry : entry + ENTRY_HEADER], end - entry)
                entry, count = entry + head + payload, count + 1
        at = server.find(MAGIC, end)
    return bytes(out), count


def _cubins(content: bytes) -> Iterator[EntryFacts]:
    reader = ContainerReader(EntryNames(STANDARD.all_entries), Glance(STANDARD), STANDARD)
    for item in read_run(BufferView(content), "", (0, len(content)), reader):
        if not isinstance(item, Flaw):
            yield from (entry for entry in item.entries if entry.kind is EntryKind.CUBIN)


def _code_of(image: bytes | bytearray, kernel: str) -> tuple[int, int] | None:
    """Offset and size of the section ``.text.KERNEL``."""
    (table,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    rows = [struct.unpack_from("<IIQQQQ", image, table + size * index) for index in range(count)]
    text = rows[names][4]
    for name, _, _, _, offset, length in rows:
        start = text + name
        if image[start : image.index(b"\0", start)] == b".text." + kernel.encode():
            return offset, length
    return None


def _candidates(image: bytearray, code: tuple[int, int], change: Change, seed: int) -> list[int]:
    """Offsets of instructions that the change is for: the first ones, or for arithmetic in an order of chance."""
    words = [
        (at, int.from_bytes(image[code[0] + at : code[0] + at + _SIZE], "little")) for at in range(0, code[1], _SIZE)
    ]
    match change:
        case Change.NOT_CODE:
            return [at for at, _ in words[:8]]
        case Change.LOST_STORE:
            return [at for at, word in words if word & 0xFFF in _STORES]
        case Change.OTHER_GUARD:
            return [at for at, word in words if word & 0xFFF in {_EXIT, _BRA} and word >> 12 & 7 != _ALWAYS]
        case Change.OTHER_REGISTER:
            found = [at for at, word in words if word & 0x1FF in _MATH]
            random.Random(seed).shuffle(found)
            return found


def _changed(instruction: bytes, change: Change) -> bytes:
    word = int.from_bytes(instruction, "little")
    match change:
        case Change.NOT_CODE:
            word = word & _CONTROL | _NONE
        case Change.LOST_STORE:
            word = word & _CONTROL | _NOP
        case Change.OTHER_GUARD:
            word ^= 1 << 15
        case Change.OTHER_REGISTER:
            word ^= 1 << 16
    return word.to_bytes(_SIZE, "little")


def _repacked(content: bytes, entry: EntryFacts, image: bytes) -> bytes | None:
    """The container with this image in place of an entry's, packed as it was; ``None`` where it does not fit."""
    packed = _packed(entry.codec, image)
    if len(packed) > entry.payload_size:
        return None
    out = bytearray(content)
    start = entry.offset + entry.header_size
    out[start : start + entry.payload_size] = packed.ljust(entry.payload_size, b"\0")
    if entry.codec is not Codec.NONE:
        struct.pack_into("<I", out, entry.offset + 16, len(packed))
    return bytes(out)


def _packed(codec: Codec, image: bytes) -> bytes:
    if codec is Codec.ZSTD:
        from backports import zstd

        return zstd.compress(image, level=22)
    if codec is Codec.LZ4:
        import lz4.block

        return bytes(lz4.block.compress(image, mode="high_compression", compression=12, store_size=False))
    return image
