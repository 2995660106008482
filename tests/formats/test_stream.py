from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.binary import BufferView, ShortRead
from pipeline.formats.needle import Needle
from pipeline.formats.stream import Stream, read_ahead, stream_of

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNKS = [b"abc", b"", b"defgh", b"i"]


def stream() -> Stream:
    return Stream(iter(CHUNKS))


def test_chunks_come_in_order_and_offsets_count() -> None:
    source = stream()
    assert (source.chunk(2), source.offset) == (b"ab", 2)
    assert source.take(4) == b"cdef"
    assert (source.peek(2), source.offset) == (b"gh", 6)
    source.unread(b"ef")
    assert source.take(4) == b"efgh"
    assert (list(source.rest()), source.chunk(), source.offset) == ([b"i"], b"", 9)


def test_taking_more_than_there_is_raises() -> None:
    with pytest.raises(ShortRead, match="1 bytes before"):
        stream().take(10)
    with pytest.raises(ShortRead):
        stream().skip(10)
    with pytest.raises(ShortRead):
        list(stream().part(10).rest())


def test_peeking_more_than_there_is_gives_what_there_is() -> None:
    assert stream().peek(100) == b"abcdefghi"


def test_parts_end_where_they_should() -> None:
    source = stream()
    part = source.part(5)
    assert (part.size, b"".join(part.rest())) == (5, b"abcde")
    assert source.take(4) == b"fghi"


@given(st.binary(max_size=60), st.integers(1, 7))
def test_distance_finds_what_find_finds(content: bytes, step: int) -> None:
    pattern = b"\1\2\3"
    content = content.replace(b"\x00", pattern)
    source = Stream(iter([content[at : at + step] for at in range(0, len(content), step)]))
    hits = []
    while (answer := source.distance(Needle(pattern, 1))) != (0, False):
        length, found = answer
        source.skip(length)
        if found:
            hits.append(source.offset)
            source.skip(1)
    expected, at = [], content.find(pattern)
    while at >= 0:
        expected.append(at)
        at = content.find(pattern, at + 1)
    assert (hits, source.offset) == (expected, len(content))


def test_reading_ahead_changes_nothing() -> None:
    assert list(read_ahead(iter([b"a", b"b", b"c"]))) == [b"a", b"b", b"c"]


def test_reading_ahead_passes_errors_on_in_their_place() -> None:
    def failing() -> Iterator[bytes]:
        yield b"a"
        raise ShortRead("gone")

    chunks = read_ahead(failing())
    assert next(chunks) == b"a"
    with pytest.raises(ShortRead, match="gone"):
        next(chunks)


def test_reading_ahead_stops_when_nobody_reads_on() -> None:
    made = []

    def endless() -> Iterator[bytes]:
        while True:
            made.append(1)
            yield b"a"

    chunks = read_ahead(endless())
    assert next(chunks) == b"a"
    chunks.close()  # type: ignore[attr-defined]
    assert len(made) < 10


def test_a_view_as_a_stream() -> None:
    source = stream_of(BufferView(b"abc"))
    assert (source.size, source.drain()) == (3, 3)


@given(st.binary(max_size=300), st.data())
def test_a_view_reads_like_any_stream(content: bytes, data: st.DataObject) -> None:
    seeking, plain = stream_of(BufferView(content)), Stream(iter([content]), len(content))
    while True:
        length = data.draw(st.integers(0, 40))
        step = data.draw(st.sampled_from(["take", "skip", "peek", "part", "chunk", "unread"]))
        answers = [_answer(source, step, length) for source in (seeking, plain)]
        assert answers[0] == answers[1]
        if isinstance(answers[0], str) or plain.offset == len(content):
            break
    assert seeking.drain() == plain.drain() == len(content)


def _answer(source: Stream, step: str, length: int) -> object:
    try:
        match step:
            case "skip":
                source.skip(length)
                return source.offset
            case "part":
                part = source.part(length)
                return (part.peek(3), part.drain(), source.offset)
            case "unread":
                taken = source.take(length)
                source.unread(taken[1:])
                return (taken, source.offset)
            case "chunk":
                return source.chunk(length or 1)[:1]
            case _:
                return (getattr(source, step)(length), source.offset)
    except ShortRead:
        return "short"


def test_what_is_skipped_is_not_read() -> None:
    class Watched(BufferView):
        read_bytes = 0

        def _fetch(self, offset: int, length: int) -> bytes:
            self.read_bytes += length
            return super()._fetch(offset, length)

    view = Watched(bytes(64 << 20))
    source = stream_of(view)
    assert source.take(512) == bytes(512)
    part = source.part(60 << 20)
    assert (part.size, source.offset, part.drain()) == (60 << 20, 512 + (60 << 20), 60 << 20)
    assert source.take(512) == bytes(512)
    assert view.read_bytes < 1 << 20
