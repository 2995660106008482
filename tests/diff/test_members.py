"""Members are matched across releases by what does not change in their paths."""

from __future__ import annotations

import pytest

from pipeline.diff.members import pair
from pipeline.model.paths import MemberPath


def members(*paths: str) -> list[MemberPath]:
    return [MemberPath(tuple(path.split("!/"))) for path in paths]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a.tar.gz!/x/lib/libk.so", "b.tar.gz!/x/lib/libk.so"),
        ("a.tar.gz!/llama-b11433/lib/libk.so", "b.tar.gz!/llama-b11434/lib/libk.so"),
        ("a.whl!/k.libs/libk-c75cca97.so.4.6.0", "b.whl!/k.libs/libk-0123abcd.so.4.7.0"),
        ("a!/lib/libk.so.1", "b!/bin/libk.so.2"),
        ("libk.so", "other.so"),
    ],
)
def test_one_and_the_same(old: str, new: str) -> None:
    found = pair(members(old), members(new))
    assert found.same == ((members(old)[0], members(new)[0]),)
    assert (found.gone, found.added) == ((), ())


def test_variants_for_two_cuda_versions_stay_apart() -> None:
    old = members("a!/x-1.0/cuda_v12/libk.so", "a!/x-1.0/cuda_v13/libk.so")
    new = members("b!/x-1.1/cuda_v13/libk.so", "b!/x-1.1/cuda_v12/libk.so")
    assert dict(pair(old, new).same) == {old[0]: new[1], old[1]: new[0]}


def test_what_is_ambiguous_is_not_guessed() -> None:
    old, new = members("a!/one/libk.so", "a!/two/libk.so"), members("b!/three/libk.so")
    found = pair(old, new)
    assert (found.same, found.gone, found.added) == ((), tuple(old), tuple(new))
