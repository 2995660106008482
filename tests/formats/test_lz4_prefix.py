"""The start of an LZ4 block unpacks like the whole, and a cut block is a typed error."""

from __future__ import annotations

import contextlib

import lz4.block
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.binary import ShortRead
from pipeline.formats.lz4_prefix import lz4_prefix

CONTENT = st.lists(st.sampled_from([b"\0" * 40, b"ELF", b"abcd", b"\x7f", b"\0"]), min_size=8).map(b"".join)


@given(CONTENT, st.integers(0, 64))
def test_it_is_the_start_of_the_whole(content: bytes, wanted: int) -> None:
    wanted = min(wanted, len(content))
    assert lz4_prefix(lz4.block.compress(content, store_size=False), wanted) == content[:wanted]


@given(st.binary(max_size=80))
def test_rubbish_is_bytes_or_a_typed_error(block: bytes) -> None:
    with contextlib.suppress(ShortRead):
        assert len(lz4_prefix(block, 64)) == 64


def test_a_cut_block() -> None:
    block = lz4.block.compress(bytes(range(200)), store_size=False)
    with pytest.raises(ShortRead):
        lz4_prefix(block[:30], 64)
