"""Kernel groups by architecture: what is not everywhere first, and the same from an audit and from a record."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.audit.kernels import KernelGroup
from pipeline.model.paths import MemberPath
from pipeline.report.coverage import MOST_ARCHS, Held, coverage, of_document, of_report
from pipeline.report.kernels_json import groups_content

LIBRARY = MemberPath(("b.tar.gz", "lib/libk.so"))
GROUPS = (
    KernelGroup(LIBRARY, "whole", 12, (("sm_80", 12), ("sm_90", 12)), 32, 0),
    KernelGroup(LIBRARY, "partial", 12, (("sm_80", 9), ("sm_90", 12)), 32, 0),
    KernelGroup(LIBRARY, "absent", 1, (("sm_90", 1),), None, 0),
)


def test_what_is_not_everywhere_comes_first_with_its_counts() -> None:
    (library,) = coverage(of_report(GROUPS), most=10, partial_only=False)
    assert (library.library, library.groups, library.kernels, library.whole) == ("b.tar.gz!/lib/libk.so", 3, 25, 1)
    assert library.archs == ("sm_80", "sm_90")
    assert library.sentence == "25 kernels in 3 groups, 1 of them for each of sm_80, sm_90"
    assert [(row.group, [cell.text for cell in row.cells]) for row in library.rows] == [
        ("partial", ["◐ 9 of 12", "✓ all 12"]),
        ("absent", ["✕ none", "✓ yes"]),
        ("whole", ["✓ all 12", "✓ all 12"]),
    ]


def test_what_does_not_fit_is_counted() -> None:
    (library,) = coverage(of_report(GROUPS), most=1, partial_only=True)
    assert [row.group for row in library.rows] == ["partial"]
    assert library.left_out == 1
    many = Held("l", "k", 1, tuple((f"sm_{number}", 1) for number in range(MOST_ARCHS + 3)))
    (library,) = coverage([many], most=1, partial_only=False)
    assert (len(library.archs), len(library.rows[0].cells), library.archs_left_out) == (MOST_ARCHS, MOST_ARCHS, 3)


def test_a_record_tells_the_same_as_the_audit() -> None:
    assert of_document({"kernels": {"groups": groups_content(GROUPS)}}) == of_report(GROUPS)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kernels": []},
        {"kernels": {"groups": {}}},
        {"kernels": {"groups": [7]}},
        {"kernels": {"groups": [{}, {"library": 7, "group": None, "kernels": -1, "archs": {"sm_80": "12"}}]}},
    ],
)
def test_a_record_of_another_shape_breaks_nothing(document: dict[str, Any]) -> None:
    coverage(of_document(document), most=5, partial_only=True)
