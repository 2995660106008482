from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.binary import AheadView, BufferView, NotKept, ShortRead, SparseView, View, open_view
from pipeline.errors import InfrastructureError

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = bytes(range(64))


def sparse() -> SparseView:
    return SparseView(64, [0, 8, 40], [CONTENT[:8], CONTENT[8:16], CONTENT[40:64]])


@pytest.mark.parametrize(("offset", "length"), [(0, 65), (60, 5), (-1, 2), (64, 1), (0, -1), (1 << 70, 1)])
@pytest.mark.parametrize("view", [BufferView(CONTENT), sparse()])
def test_a_read_outside_raises(view: View, offset: int, length: int) -> None:
    with pytest.raises(ShortRead):
        view.read(offset, length)


def test_integers_are_little_endian() -> None:
    view = BufferView(CONTENT)
    assert (view.u16(1), view.u32(1), view.u64(0)) == (0x0201, 0x04030201, 0x0706050403020100)


def test_windows_share_bounds() -> None:
    window = BufferView(CONTENT).window(16, 8)
    assert window.read(0, 8) == CONTENT[16:24]
    with pytest.raises(ShortRead):
        window.read(0, 9)


@given(st.integers(0, 64), st.integers(0, 64))
def test_a_file_reads_like_memory(tmp_path_factory: pytest.TempPathFactory, offset: int, length: int) -> None:
    path = tmp_path_factory.getbasetemp() / "content"
    path.write_bytes(CONTENT)
    with open_view(path) as view:
        if offset + length > 64:
            with pytest.raises(ShortRead):
                view.read(offset, length)
        else:
            assert view.read(offset, length) == CONTENT[offset : offset + length]
            assert view.window(offset, length).head(64) == CONTENT[offset : offset + length]


def test_a_file_that_shrinks_meanwhile_is_a_short_read(tmp_path: Path) -> None:
    path = tmp_path / "content"
    path.write_bytes(CONTENT)
    with open_view(path) as view:
        os.truncate(path, 10)
        with pytest.raises(ShortRead):
            view.read(0, 64)


def test_a_file_that_cannot_be_opened_is_infrastructure(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot open"), open_view(tmp_path / "absent"):
        pass


def test_holes_are_never_zeros() -> None:
    view = sparse()
    assert view.read(4, 8) == CONTENT[4:12]
    assert view.read(40, 24) == CONTENT[40:]
    for offset, length in ((16, 1), (12, 8), (39, 2), (0, 64)):
        with pytest.raises(NotKept):
            view.read(offset, length)


def test_pieces_pass_over_holes() -> None:
    assert list(sparse().pieces(4, 40)) == [(4, CONTENT[4:8]), (8, CONTENT[8:16]), (40, CONTENT[40:44])]


def test_a_window_of_a_sparse_view_keeps_its_holes() -> None:
    window = sparse().window(12, 40)
    assert window.read(0, 4) == CONTENT[12:16]
    with pytest.raises(NotKept):
        window.read(3, 2)


@given(st.lists(st.tuples(st.integers(0, 700_000), st.integers(0, 300_000)), max_size=8))
def test_reading_ahead_changes_nothing(places: list[tuple[int, int]]) -> None:
    content = bytes(range(251)) * 3000
    plain = BufferView(content)
    ahead = AheadView(plain)
    for offset, length in places:
        if offset + length <= plain.size:
            assert ahead.read(offset, length) == content[offset : offset + length]
            assert ahead.window(offset, length).read(0, length) == content[offset : offset + length]
        else:
            with pytest.raises(ShortRead):
                ahead.read(offset, length)
