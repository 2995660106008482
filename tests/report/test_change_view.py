"""What changed since the last release, out of a document on record that may be of any shape."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.report.change_view import MOST_LOSSES, Change, change_of

SIZES = {"old": {"path": "/cache/a-1.tar.gz", "size": 100 << 20}, "new": {"path": "a-2.tar.gz", "size": 112 << 20}}


def changed(**content: Any) -> Change:
    change = change_of({**SIZES, **content})
    assert change is not None
    return change


def floor(sm: str, old: str | None, new: str | None) -> dict[str, Any]:
    return {"sm": sm, "old": {"minimum_driver": old}, "new": {"minimum_driver": new}}


def test_sizes_and_the_name_of_the_old_one_without_its_folder() -> None:
    change = changed()
    assert (change.old, change.size, change.grew) == ("a-1.tar.gz", "100.0 MiB → 112.0 MiB", "grew by 12.0%")


@pytest.mark.parametrize(
    ("floors", "raised", "lowered"),
    [
        ([floor("80", "535.54.03", "535.54.03")], (), ()),
        ([floor("80", "525.60.13", "550.54.14"), floor("90", "525.60.13", "550.54.14")], ("80, sm_90: 525", ), ()),
        ([floor("80", "550.54.14", "525.60.13")], (), ("80: 550.54.14 → 525.60.13",)),
        ([floor("80", "99.1", "100.1")], ("80: 99.1 → 100.1",), ()),
        ([floor("80", "525.60.13", None)], ("80: 525.60.13 → no driver",), ()),
        ([floor("80", None, "525.60.13")], (), ("80: no driver → 525.60.13",)),
        ([floor("80", "525.60.13", "later")], ("80: 525.60.13 → later",), ()),
        ([7, {"sm": 80}, {}], (), ()),
    ],
)  # fmt: skip
def test_a_higher_driver_is_told_from_a_lower_one(
    floors: list[Any], raised: tuple[str, ...], lowered: tuple[str, ...]
) -> None:
    change = changed(floors=floors)
    for told, expected in ((change.raised, raised), (change.lowered, lowered)):
        assert [line.startswith(f"sm_{start}") for line, start in zip(told, expected, strict=True)] == [True] * len(
            told
        )


def test_members_that_grew_most_come_first_and_no_others() -> None:
    sizes = [
        {"path": "", "old": 1, "new": 999_999},
        {"path": "lib/a.so", "old": 1000, "new": 5000},
        {"path": "lib/b.so", "old": 0, "new": 9000},
        {"path": "lib/c.so", "old": 5000, "new": 10},
        "lib/d.so",
        {"path": "lib/e.so", "old": "1", "new": True},
    ]
    assert [line.partition(":")[0] for line in changed(sizes=sizes).members] == ["lib/b.so", "lib/a.so"]


def test_losses_are_the_gravest_first_cut_and_counted() -> None:
    noted = [{"severity": "note", "rule": "file-gone", "observed": str(number)} for number in range(2 * MOST_LOSSES)]
    change = changed(findings=[*noted, {"severity": "error", "rule": "arch-lost", "observed": "sm_80", "count": 3}])
    assert (change.losses[0].rule, change.losses[0].count) == ("arch-lost", 3)
    assert change.lost == change.losses[:1]
    assert (len(change.losses), change.left_out) == (MOST_LOSSES, MOST_LOSSES + 1)


@pytest.mark.parametrize("findings", [None, 7, [7], [{}], [{"severity": "grave"}], [{"severity": ["error"]}]])
def test_findings_of_another_shape_are_not_told(findings: Any) -> None:
    assert changed(findings=findings).losses == ()


@pytest.mark.parametrize("size", [None, 0, -1, "9", True, 1.5, 1 << 80])
def test_without_two_sizes_there_is_no_comparison(size: Any) -> None:
    assert change_of({**SIZES, "new": {"size": size}}) is None
