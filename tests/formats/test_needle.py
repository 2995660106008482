from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.formats.needle import Needle


@given(
    st.lists(st.sampled_from([b"a", b"ab", b"aab", b"abab", b"\n", b"."])).map(b"".join),
    st.sampled_from([b"a", b"aa", b"aab", b"abab", b"\nb", b"."]),
    st.integers(0, 3),
    st.integers(0, 5),
)
def test_it_finds_what_find_finds(data: bytes, pattern: bytes, rarest: int, start: int) -> None:
    needle = Needle(pattern, min(rarest, len(pattern) - 1))
    assert needle.find(data, start) == data.find(pattern, start)
    assert list(needle.all(data)) == [at for at in range(len(data)) if data.startswith(pattern, at)]
