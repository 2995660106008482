"""The content of a zip archive's members, checked against what the directory says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.binary import BufferView, FormatError
from pipeline.formats import decoders
from pipeline.formats.compression import decoded, guarded, worth_a_thread
from pipeline.formats.pkzip import LOCAL_HEADER, LOCAL_MAGIC, Method, member_name
from pipeline.formats.stream import Stream, read_ahead, stream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.binary import View
    from pipeline.formats.budgets import Budgets
    from pipeline.formats.decoders import Decoder
    from pipeline.formats.pkzip import ZipMember

_ENCRYPTED = 0x1
_AT_ONCE = 1 << 20
_WRONG_CHECKSUM = "a zip member's checksum does not fit"


def open_member(view: View, member: ZipMember, budgets: Budgets, *, ahead: bool) -> View | Stream:
    """The content: a view where it is stored plainly, else a stream that checks size and CRC at its end.

    ``ahead``: what is large is unpacked in another thread.
    """
    start = _content_at(view, member)
    check_readable(member)
    if member.method == Method.STORED:
        if member.packed != member.size:
            raise FormatError("a stored zip member with two sizes")
        return view.window(start, member.size)
    make = decoder_of(member)
    if max(member.packed, member.size) <= _AT_ONCE:
        return BufferView(_unpacked(view.read(start, member.packed), make(), member))
    source = stream_of(view.window(start, member.packed))
    chunks = guarded(decoded(source, make()), source, budgets)
    content = checked(chunks, member)
    return Stream(read_ahead(content) if ahead and worth_a_thread(source) else content, member.size)


def _unpacked(packed: bytes, decoder: Decoder, member: ZipMember) -> bytes:
    """Unpack a small member in one step."""
    try:
        content = decoder.decompress(packed, member.size + 1)
    except decoders.decoding_errors() as error:
        raise FormatError(f"the compressed data is damaged: {error}") from error
    if not decoder.eof or decoder.unused_data or len(content) != member.size:
        raise FormatError(f"a zip member does not unpack to the {member.size} bytes it states")
    if decoders.crc32()(content, 0) != member.crc:
        raise FormatError(_WRONG_CHECKSUM)
    return content


def _content_at(view: View, member: ZipMember) -> int:
    expected = LOCAL_HEADER.size + len(member.name.encode("utf-8", "surrogateescape"))
    head = view.read(member.header_at, expected)
    header = LOCAL_HEADER.unpack_from(head)
    name_size, extra_size = header[9], header[10]
    name = head[LOCAL_HEADER.size :]
    if (
        header[0] != LOCAL_MAGIC
        or header[3] != member.method
        or name_size != len(name)
        or member_name(name) != member.name
    ):
        raise FormatError("a zip member's local header and the central directory disagree")
    return int(member.header_at + LOCAL_HEADER.size + name_size + extra_size)


def check_readable(member: ZipMember) -> None:
    """``FormatError`` when the member is encrypted: what is in it cannot be judged."""
    if member.flags & _ENCRYPTED:
        raise FormatError("an encrypted zip member")


def decoder_of(member: ZipMember) -> Callable[[], Decoder]:
    """What makes the decompressor for this member; ``FormatError`` when its method is not known here."""
    make = decoders.FOR_ZIP.get(member.method)
    if make is None:
        raise FormatError(f"a zip member compressed by method {member.method}, which is not known here")
    return make


def checked(chunks: Iterator[bytes], member: ZipMember) -> Iterator[bytes]:
    """Pass the content on and compare its size and checksum with what the directory says."""
    add, seen, value = decoders.crc32(), 0, 0
    size = member.size
    for chunk in chunks:
        seen += len(chunk)
        if seen > size:
            raise FormatError(f"a zip member unpacks to more than the {size} bytes it states")
        value = add(chunk, value)
        yield chunk
    if seen != size:
        raise FormatError(f"a zip member unpacks to {seen} bytes instead of {size}")
    if value != member.crc:
        raise FormatError(_WRONG_CHECKSUM)
