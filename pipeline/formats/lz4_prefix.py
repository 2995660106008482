"""The first bytes of an LZ4 block, without unpacking the rest: enough for the ELF header of a packed cubin."""

from __future__ import annotations

from pipeline.binary import ShortRead

_SHORTEST_MATCH = 4
_LONG = 15
_CONTINUED = 255


def lz4_prefix(block: bytes, wanted: int) -> bytes:
    """Unpack until ``wanted`` bytes are there; ``ShortRead`` when this part of the block does not hold so many."""
    try:
        return _unpacked(block, wanted)
    except IndexError as error:
        raise ShortRead("an LZ4 block is cut short") from error


def _unpacked(block: bytes, wanted: int) -> bytes:
    out = bytearray()
    at = 0
    while True:
        token = block[at]
        literals, at = _length(block, at + 1, token >> 4)
        if at + min(literals, wanted - len(out)) > len(block):
            raise ShortRead("an LZ4 block ends within its literals")
        out += block[at : at + literals]
        at += literals
        if len(out) >= wanted:
            return bytes(out[:wanted])
        distance = block[at] | block[at + 1] << 8
        length, at = _length(block, at + 2, token & 0xF)
        _copy_match(out, distance, min(length + _SHORTEST_MATCH, wanted - len(out)))
        if len(out) >= wanted:
            return bytes(out)


def _copy_match(out: bytearray, distance: int, length: int) -> None:
    """Repeat what stands ``distance`` before the end; a match longer than that goes on with its own bytes."""
    if not 0 < distance <= len(out):
        raise ShortRead("an LZ4 block refers to bytes before its start")
    start = len(out) - distance
    out += (out[start : start + length] * (length // distance + 1))[:length]


def _length(block: bytes, at: int, code: int) -> tuple[int, int]:
    """A length of 15 goes on in the next bytes, as long as they are 255; ``IndexError`` past the end."""
    if code < _LONG:
        return code, at
    length, more = code, _CONTINUED
    while more == _CONTINUED:
        more = block[at]
        at += 1
        length += more
    return length, at
