"""What a worker and its parent say to each other: length-prefixed bytes one way, lines of Python literals the other.

The standard library alone, and little of it, neither json nor pathlib: a worker must be there at once.
"""

from __future__ import annotations

import os
import struct

_LENGTH = struct.Struct("<Q")
LENGTH_SIZE = _LENGTH.size


def prefix(size: int) -> bytes:
    """The bytes that announce a message of ``size`` bytes."""
    return _LENGTH.pack(size)


def line(answer: dict[str, object]) -> bytes:
    """One line of ASCII for an answer of words and numbers; the parent reads it with ``ast.literal_eval``."""
    return ascii(answer).encode("ascii") + b"\n"


def receive(descriptor: int) -> bytearray | None:
    """The next message, followed by one zero byte (PTX ends with it); ``None`` when the sender has closed.

    ``EOFError`` when it closed in the midst of a message.
    """
    head = bytearray(LENGTH_SIZE)
    first = os.readv(descriptor, [head])
    if first == 0:
        return None
    _fill(descriptor, memoryview(head)[first:])
    size: int = _LENGTH.unpack(head)[0]
    message = bytearray(size + 1)
    _fill(descriptor, memoryview(message)[:size])
    return message


def _fill(descriptor: int, room: memoryview) -> None:
    while room:
        got = os.readv(descriptor, [room])
        if got == 0:
            raise EOFError("the sender closed in the midst of a message")
        room = room[got:]
