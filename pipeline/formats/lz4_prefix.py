"""The first bytes of an LZ4 block, without unpacking the rest: enough for the ELF header of a packed cubin."""

from __future__ import annotations

from pipeline.binary import ShortRead

_SHORTEST_MATCH = 4
_LONG = 15
_CONTINUED = 255


def lz4_prefix(block: bytes, wanted: int) -> bytes:
    """Unpack until ``wanted`` bytes are there; ``ShortRead`` when this part of the block does not hold so many."""
    out = bytearray()
    at = 0
    while len(out) < wanted:
        token, at = _byte(block, at)
        literals, at = _length(block, at, token >> 4)
        if at + min(literals, wanted - len(out)) > len(block):
            raise ShortRead("an LZ4 block ends within its literals")
        out += block[at : at + literals]
        at += literals
        if len(out) < wanted:
            at = _copy_match(block, at, token & 0xF, out, wanted)
    return bytes(out[:wanted])


def _copy_match(block: bytes, at: int, code: int, out: bytearray, wanted: int) -> int:
    low, at = _byte(block, at)
    high, at = _byte(block, at)
    distance = low | high << 8
    length, at = _length(block, at, code)
    if not 0 < distance <= len(out):
        raise ShortRead("an LZ4 block refers to bytes before its start")
    for _ in range(min(length + _SHORTEST_MATCH, wanted - len(out))):
        out.append(out[-distance])
    return at


def _length(block: bytes, at: int, code: int) -> tuple[int, int]:
    """A length of 15 goes on in the next bytes, as long as they are 255."""
    if code < _LONG:
        return code, at
    length, more = code, _CONTINUED
    while more == _CONTINUED:
        more, at = _byte(block, at)
        length += more
    return length, at


def _byte(block: bytes, at: int) -> tuple[int, int]:
    if at >= len(block):
        raise ShortRead("an LZ4 block is cut short")
    return block[at], at + 1
