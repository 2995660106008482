"""Messages between the two processes: whole, or not at all."""

from __future__ import annotations

import os

import pytest

from pipeline.gpu.wire import prefix, receive


def pipe(content: bytes) -> int:
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    return reader


def test_messages_end_with_a_zero_that_was_not_sent() -> None:
    reader = pipe(prefix(3) + b"abc" + prefix(0) + prefix(1) + b"d")
    assert [receive(reader) for _ in range(4)] == [b"abc\0", b"\0", b"d\0", None]
    os.close(reader)


@pytest.mark.parametrize("content", [prefix(3)[:5], prefix(3), prefix(3) + b"ab"])
def test_a_message_cut_short_is_an_error(content: bytes) -> None:
    reader = pipe(content)
    with pytest.raises(EOFError):
        receive(reader)
    os.close(reader)
