"""Names of driver entry points are found in any bytes exactly where a whole string is one."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.formats.strings import entry_points_in

NAME = re.compile(rb"cu(?:[A-Z]|GL)[A-Za-z0-9]{2,60}(?:_v[0-9]+)?")
BITS = st.sampled_from([b"\0", b"cu", b"cuInit", b"cuMemAlloc_v2", b"GL", b"_v2", b"c", b"A1", b"\xff", b"a"])


@given(st.lists(BITS).map(b"".join))
@example(b"\0cuInit\0")
@example(b"cuInit\0\0xcuInit\0\0cuInit")  # the first may begin before this piece, the last may go on behind it
@example(b"\0cuInitcuMemAlloc_v2\0\0cuGLInit\0")
def test_a_name_is_a_whole_string(piece: bytes) -> None:
    whole = piece.split(b"\0")[1:-1]
    assert list(entry_points_in(piece)) == [text for text in whole if NAME.fullmatch(text)]
